/** What a race has left behind, looked at from outside: through the doors that users have. */

import { openBackend } from '../../src/backends/open.ts'
import { canonicalProfile } from '../../src/canonical/index.ts'
import { jaccard, shingleHashes, sketchOf } from '../../src/fingerprint/index.ts'
import { openResolver, openStore, type Resolver } from '../../src/index.ts'
import { resolverSpaces } from '../../src/resolve/index.ts'
import { storeSpaces } from '../../src/store/index.ts'
import { TextScheme } from '../../src/match/scheme/text.ts'
import type { Delivery } from './work.ts'

export interface RaceAudit {
  readonly distinctValues: number
  /** Contents beyond one a distinct value. */
  readonly storedTwice: number
  /** Keys whose own bytes did not come back. */
  readonly lost: number
  /** What verify found wrong. */
  readonly wrongReferences: number
  readonly distinctTexts: number
  readonly unresolved: number
  /** Pairs of near duplicates that share a band, both accepted as things of their own. */
  readonly bothAccepted: number
  /** Texts resolved to something they are not like. */
  readonly wronglyMatched: number
}

export async function auditRace(location: string, work: readonly Delivery[]): Promise<RaceAudit> {
  const backend = await openBackend(location, { spaces: [...storeSpaces, ...resolverSpaces] })
  try {
    const store = await openStore(backend)
    const resolver = await openResolver(backend, { cacheMax: 0 })
    const values = new Map<string, string>()
    const texts = new Map<string, number>()
    for (const one of work) {
      if (one.kind === 'put') values.set(one.key, one.value)
      else texts.set(one.text, one.cluster)
    }
    let lost = 0
    for (const [key, value] of values) {
      if ((await store.get(key))?.toString() !== value) lost++
    }
    const distinctValues = new Set(values.values()).size
    const { contents } = await store.stats()
    const { problems } = await store.verify()
    const resolved = await auditTexts(resolver, texts)
    return {
      distinctValues,
      storedTwice: contents - distinctValues,
      lost,
      wrongReferences: problems.length,
      distinctTexts: texts.size,
      ...resolved,
    }
  } finally {
    await backend.close()
  }
}

async function auditTexts(resolver: Resolver, texts: ReadonlyMap<string, number>) {
  const { profile, threshold, slots } = resolver.settings.text
  const likeness = new TextScheme(slots, resolver.settings.text)
  const canonical = canonicalProfile('unicode')
  const lookOf = (text: string) => {
    const bytes = Buffer.from(canonical.canonicalise(Buffer.from(text)))
    const sketch = sketchOf(bytes, { profile, slots })
    const bands = [...likeness.bandKeys(sketch.slots)]
    return { hashes: shingleHashes(bytes, profile), bands }
  }
  const accepted = new Map<number, ReturnType<typeof lookOf>[]>()
  const representatives = new Map<string, ReturnType<typeof lookOf>>()
  const matched: { readonly look: ReturnType<typeof lookOf>; readonly representative: string }[] =
    []
  let unresolved = 0
  for (const [text, cluster] of texts) {
    const found = await resolver.lookup('race', text)
    const look = lookOf(text)
    if (!found || found.status === 'match') unresolved++
    else if (found.status === 'exact') {
      representatives.set(found.id, look)
      accepted.set(cluster, [...(accepted.get(cluster) ?? []), look])
    } else matched.push({ look, representative: found.representative })
  }
  let bothAccepted = 0
  for (const looks of accepted.values()) {
    for (const [at, one] of looks.entries()) {
      for (const other of looks.slice(at + 1)) {
        const shares = one.bands.some((band, place) => band === other.bands[place])
        if (shares && jaccard(one.hashes, other.hashes) >= threshold) bothAccepted++
      }
    }
  }
  const wronglyMatched = matched.filter(({ look, representative }) => {
    const other = representatives.get(representative)
    return !other || jaccard(look.hashes, other.hashes) < threshold
  }).length
  return { unresolved, bothAccepted, wronglyMatched }
}
