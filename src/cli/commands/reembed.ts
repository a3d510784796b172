/** `reembed`: another model for a store that compares meanings. */

import type { Invocation } from '../call/invocation.ts'
import { print, printJson, tell } from '../print/output.ts'
import { count } from '../print/units.ts'
import { existingLocationOf } from '../call/with-store.ts'

const PROGRESS_MS = 1000

export async function run(invocation: Invocation): Promise<number> {
  const location = existingLocationOf(invocation)
  const { reembedStore } = await import('../../store/index.ts')
  const shows = invocation.flag('progress') || (process.stderr.isTTY && !invocation.flag('quiet'))
  let toldAt = Date.now()
  const done = await reembedStore(location, {
    namespace: invocation.text('namespace'),
    embedder: invocation.text('model'),
    threshold: invocation.share('semantic-threshold'),
    signal: invocation.signal,
    onProgress({ texts }) {
      if (!shows || Date.now() - toldAt < PROGRESS_MS) return
      toldAt = Date.now()
      tell(`${count(texts)} texts\n`)
    },
  })
  if (invocation.flag('json')) await printJson(done)
  else if (!invocation.flag('quiet')) {
    const { from, to, texts, embedded, threshold } = done
    await print(
      `${count(texts)} texts compared again, ${count(embedded)} of them embedded\n` +
        `  from ${from}\n  to   ${to}\n  threshold ${threshold}\n`,
    )
  }
  return 0
}
