/**
 * Logistic regression with an L2 penalty and signs that weights must have, by Newton's method.
 *
 * Deterministic: a bounded number of steps over rows in the order given. A weight with the wrong sign is left out and the
 * rest is fitted again, so that what must be monotone is.
 */

export interface LogisticProblem {
  /** Standardised features, one row a pair. */
  readonly rows: readonly Float64Array[]
  readonly labels: readonly boolean[]
  /** Per feature: its weight is not negative (1), not positive (-1), or anything (0). */
  readonly signs: readonly (-1 | 0 | 1)[]
  readonly penalty: number
}

export interface LogisticFit {
  readonly bias: number
  readonly weights: readonly number[]
}

const STEPS = 25
const TOLERANCE = 1e-10
/** A step that makes nothing better is halved, down to this part of it. */
const RATE_MIN = 1e-6

export function fitLogistic(problem: LogisticProblem): LogisticFit {
  let active = problem.signs.map((_, at) => at)
  for (;;) {
    const fitted = newton(problem, active)
    let worst = -1
    let most = 0
    active.forEach((feature, at) => {
      const violation = -(fitted[at + 1] ?? 0) * (problem.signs[feature] ?? 0)
      if (violation > most) [most, worst] = [violation, feature]
    })
    if (worst < 0) {
      const weights = problem.signs.map(() => 0)
      active.forEach((feature, at) => (weights[feature] = fitted[at + 1] ?? 0))
      return { bias: fitted[0] ?? 0, weights }
    }
    active = active.filter((feature) => feature !== worst)
  }
}

export function sigmoid(logit: number): number {
  return 1 / (1 + Math.exp(-logit))
}

/** The bias first, then a weight for each active feature. */
function newton(problem: LogisticProblem, active: readonly number[]): Float64Array {
  const size = active.length + 1
  const inputs = problem.rows.map((row) =>
    Float64Array.from({ length: size }, (_, at) =>
      at === 0 ? 1 : (row[active[at - 1] ?? 0] ?? 0),
    ),
  )
  let weights: Float64Array = new Float64Array(size)
  let loss = lossOf(problem, inputs, weights)
  for (let step = 0; step < STEPS; step++) {
    const direction = newtonStep(problem, inputs, weights)
    const before = loss
    for (let rate = 1; rate > RATE_MIN && loss === before; rate /= 2) {
      const next = weights.map((weight, at) => weight + rate * (direction[at] ?? 0))
      const nextLoss = lossOf(problem, inputs, next)
      if (nextLoss >= before) continue
      weights = next
      loss = nextLoss
    }
    if (before - loss <= before * TOLERANCE) break
  }
  return weights
}

function logitOf(input: Float64Array, weights: Float64Array): number {
  let sum = 0
  for (let at = 0; at < input.length; at++) sum += (input[at] ?? 0) * (weights[at] ?? 0)
  return sum
}

function lossOf(
  { labels, penalty }: LogisticProblem,
  inputs: readonly Float64Array[],
  weights: Float64Array,
): number {
  let loss = 0
  inputs.forEach((input, row) => {
    const logit = labels[row] ? -logitOf(input, weights) : logitOf(input, weights)
    loss += logit > 30 ? logit : Math.log1p(Math.exp(logit))
  })
  for (let at = 1; at < weights.length; at++) loss += (penalty / 2) * (weights[at] ?? 0) ** 2
  return loss
}

function newtonStep(
  { labels, penalty }: LogisticProblem,
  inputs: readonly Float64Array[],
  weights: Float64Array,
): Float64Array {
  const size = weights.length
  const gradient = new Float64Array(size)
  const hessian = new Float64Array(size * size)
  inputs.forEach((input, row) => {
    const probability = sigmoid(logitOf(input, weights))
    const error = (labels[row] ? 1 : 0) - probability
    const curvature = Math.max(1e-9, probability * (1 - probability))
    for (let at = 0; at < size; at++) {
      const own = input[at] ?? 0
      gradient[at] = (gradient[at] ?? 0) + error * own
      for (let other = 0; other <= at; other++) {
        const cell = at * size + other
        hessian[cell] = (hessian[cell] ?? 0) + curvature * own * (input[other] ?? 0)
      }
    }
  })
  for (let at = 1; at < size; at++) {
    gradient[at] = (gradient[at] ?? 0) - penalty * (weights[at] ?? 0)
    hessian[at * size + at] = (hessian[at * size + at] ?? 0) + penalty
  }
  return solved(hessian, gradient)
}

/** Solves by Cholesky; only the lower half of the matrix is given, and it is overwritten. */
function solved(matrix: Float64Array, right: Float64Array): Float64Array {
  const size = right.length
  const cell = (row: number, column: number) => matrix[row * size + column] ?? 0
  for (let column = 0; column < size; column++) {
    for (let row = column; row < size; row++) {
      let sum = cell(row, column)
      for (let at = 0; at < column; at++) sum -= cell(row, at) * cell(column, at)
      matrix[row * size + column] =
        row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / cell(column, column)
    }
  }
  const result = Float64Array.from(right)
  for (let row = 0; row < size; row++) {
    let sum = result[row] ?? 0
    for (let at = 0; at < row; at++) sum -= cell(row, at) * (result[at] ?? 0)
    result[row] = sum / cell(row, row)
  }
  for (let row = size - 1; row >= 0; row--) {
    let sum = result[row] ?? 0
    for (let at = row + 1; at < size; at++) sum -= cell(at, row) * (result[at] ?? 0)
    result[row] = sum / cell(row, row)
  }
  return result
}
