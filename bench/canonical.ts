/** What does a canonical form cost a put of text? Against the same puts compared by their bytes alone. */

import type { Bench } from './harness/bench.ts'
import { randomNumbers } from './harness/data.ts'
import { type Load, measurePuts, openOurs } from './put.ts'

const ONE = { bytes: 1024, repeats: 'half', flight: 32, durability: 'os' } as const

/** Some of them change under the profile: accents composed and not, ligatures, wide letters, line ends. */
const WORDS =
  'the store keeps every value once and tells what it has seen before café cafe\u0301 nai\u0308ve résumé ﬁle Ｗｉｄｅ straße größer línea\r\n'.split(
    ' ',
  )

/** Text of the length of each value, chosen by the value's own bytes, so that equal values stay equal. */
function asText(load: Load): Load {
  return { ...load, values: load.values.map((value) => textOf(value)) }
}

function textOf(value: Buffer): Buffer {
  const pick = randomNumbers(value.readUInt32LE(0))
  let text = value.toString('hex', 0, 8)
  while (Buffer.byteLength(text) < value.byteLength - 16) {
    for (let word = 0; word < 8; word++) text += ` ${WORDS[pick(WORDS.length)]}`
  }
  return Buffer.from(text)
}

export const bench: Bench = {
  name: 'canonical',
  question: "What does canonical 'unicode' cost a put of text, against 'none'?",
  cases: [
    {
      name: "put 1 KiB of text, half duplicates, 32 in flight, os, 'unicode'",
      ours: {
        run: (place) =>
          measurePuts(
            ONE,
            place,
            (where) => openOurs(where, ONE, { canonical: 'unicode' }),
            asText,
          ),
      },
      reference: {
        name: "the same, 'none'",
        run: (place) =>
          measurePuts(ONE, place, (where) => openOurs(where, ONE, { canonical: 'none' }), asText),
      },
    },
  ],
}
