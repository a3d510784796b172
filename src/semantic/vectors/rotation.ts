/**
 * The rotation before product codes: axes along which vectors vary, dealt out to the parts so that each has about as much
 * to say (OPQ by its parametric solution). A part of the vector as it comes would spend its codes on what all parts say.
 *
 * Any result is a rotation, to rounding: it is made of plane rotations alone. So codes are as good as their axes, and never wrong.
 */

/** Off the diagonal next to nothing is left after so many. */
const SWEEPS = 5
/** Numbers of a covariance that are summed up before others may have their turn. */
const SLICE = 2 ** 20

/** Axes side by side, `width` numbers each, part by part. Vectors lie side by side. `turn` is called often. */
export async function learnedRotation(
  vectors: Float32Array,
  width: number,
  parts: number,
  turn: () => Promise<void>,
): Promise<Float32Array> {
  const squares = await secondMoments(vectors, width, turn)
  const axes = await diagonalised(squares, width, turn)
  const variances = Array.from({ length: width }, (_, at) => squares[at * width + at] ?? 0)
  const rotation = new Float32Array(width * width)
  partsOf(variances, parts)
    .flat()
    .forEach((axis, row) => {
      rotation.set(axes.subarray(axis * width, (axis + 1) * width), row * width)
    })
  return rotation
}

async function secondMoments(
  vectors: Float32Array,
  width: number,
  turn: () => Promise<void>,
): Promise<Float64Array> {
  const sums = new Float64Array(width * width)
  const slice = Math.ceil(SLICE / width / width) * width
  for (let from = 0; from < vectors.length; from += width) {
    for (let row = 0; row < width; row++) {
      const number = vectors[from + row] ?? 0
      for (let at = row; at < width; at++) {
        sums[row * width + at] = (sums[row * width + at] ?? 0) + number * (vectors[from + at] ?? 0)
      }
    }
    if (from % slice === 0) await turn()
  }
  for (let row = 0; row < width; row++) {
    for (let at = 0; at < row; at++) sums[row * width + at] = sums[at * width + row] ?? 0
  }
  return sums
}

/** Jacobi's method: leaves the variances on the diagonal of `matrix`, and gives their axes as rows. */
async function diagonalised(
  matrix: Float64Array,
  width: number,
  turn: () => Promise<void>,
): Promise<Float64Array> {
  const axes = new Float64Array(width * width)
  for (let at = 0; at < width; at++) axes[at * width + at] = 1
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (let first = 0; first < width; first++) {
      for (let second = first + 1; second < width; second++) {
        const plane = planeOf(matrix, width, first, second)
        if (plane[1] === 0) continue
        const rows = [first * width, second * width] as const
        turnLines(matrix, rows, 1, plane)
        turnLines(matrix, [first, second], width, plane)
        turnLines(axes, rows, 1, plane)
      }
      await turn()
    }
  }
  return axes
}

/** Cosine and sine of the plane rotation after which two axes do not vary together. */
function planeOf(
  matrix: Float64Array,
  width: number,
  first: number,
  second: number,
): [number, number] {
  const both = matrix[first * width + second] ?? 0
  if (both === 0) return [1, 0]
  const apart = (matrix[second * width + second] ?? 0) - (matrix[first * width + first] ?? 0)
  const ratio = apart / (2 * both)
  const tangent = (ratio < 0 ? -1 : 1) / (Math.abs(ratio) + Math.sqrt(ratio * ratio + 1))
  const cosine = 1 / Math.sqrt(tangent * tangent + 1)
  return [cosine, tangent * cosine]
}

/** Rotates two lines of a square matrix, whose numbers lie `stride` apart: rows, or columns. */
function turnLines(
  matrix: Float64Array,
  [first, second]: readonly [number, number],
  stride: number,
  [cosine, sine]: readonly [number, number],
): void {
  let [one, other] = [first, second]
  const count = Math.sqrt(matrix.length)
  for (let at = 0; at < count; at++, one += stride, other += stride) {
    const a = matrix[one] ?? 0
    const b = matrix[other] ?? 0
    matrix[one] = cosine * a - sine * b
    matrix[other] = sine * a + cosine * b
  }
}

/** The axes of every part: the one with the greatest variance left goes to the part with the least product of variances. */
function partsOf(variances: readonly number[], parts: number): number[][] {
  const most = Math.max(...variances)
  const least = Math.max(most * 1e-12, Math.min(...variances), Number.MIN_VALUE)
  const order = variances.map((_, axis) => axis)
  order.sort((one, other) => (variances[other] ?? 0) - (variances[one] ?? 0))
  const dealt = Array.from({ length: parts }, () => ({ axes: [] as number[], logarithm: 0 }))
  for (const axis of order) {
    const open = dealt.filter(({ axes }) => axes.length < variances.length / parts)
    const part = open.reduce((best, other) => (other.logarithm < best.logarithm ? other : best))
    part.axes.push(axis)
    part.logarithm += Math.log(Math.max(1, (variances[axis] ?? 0) / least))
  }
  return dealt.map(({ axes }) => axes)
}
