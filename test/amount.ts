/**
 * How much of something a test does: the first number wherever all tests run, the second in `npm run long -- tests`,
 * which runs the files that ask here.
 */
export const amount = <T>(short: T, long: T): T =>
  process.env['PRESTIGE_TESTS'] === 'long' ? long : short
