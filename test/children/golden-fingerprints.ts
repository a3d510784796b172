/** Prints all golden fingerprints, from a process of its own. */

import { goldenFingerprints } from '../texts/golden-fingerprints.ts'

process.stdout.write(JSON.stringify(goldenFingerprints()))
