/** Prints the SimHash of what it reads, from a process of its own. */

import { text } from 'node:stream/consumers'

import { simHashHex, simHashOf } from '../../src/fingerprint/index.ts'

process.stdout.write(simHashHex(simHashOf(await text(process.stdin), 'words')))
