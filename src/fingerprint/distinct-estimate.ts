/**
 * How many distinct shingles a sketch saw, from its own values.
 *
 * A slot holds the least of about distinct/slots even values below 2^31, so the values are about
 * slots/distinct of the range. The relative error is about 1/√slots. Only for sketches whose slots were all
 * filled in round 0; with fewer shingles than that the kernels count them.
 */

const VALUES = 2 ** 31

export function estimateDistinct(sum: number, slots: number, shingles: number): number {
  if (shingles === 0) return 0
  const estimate = Math.round((slots * (slots - 1) * VALUES) / Math.max(sum, 1))
  return Math.min(Math.max(estimate, 1), shingles)
}
