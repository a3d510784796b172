/** Prints all golden fingerprints, from a process of its own; with `small`, all but those of the large text. */

import { goldenFingerprints } from '../texts/golden-fingerprints.ts'

const hasLarge = !process.argv.includes('small')
process.stdout.write(JSON.stringify(goldenFingerprints({ hasLarge })))
