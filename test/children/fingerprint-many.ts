/** Sketches some texts in workers, closes nothing, and is expected to end by itself. */

import { fingerprintMany } from '../../src/fingerprint/index.ts'

let count = 0
for await (const sketch of fingerprintMany(['a', 'b', 'c'])) count += sketch.shingles
process.stdout.write(String(count))
