/**
 * What a store that compares meanings was written with, and whether it can be opened so.
 *
 * The embedder's id, the threshold and the guards are kept in the store. Reranker and judge are not: they are asked
 * when a text comes, and what they said is in the links.
 */

import type { Layout } from '../contents/layout.ts'
import type { Backend } from '../../backends/index.ts'
import { PrestigeError } from '../../platform/errors.ts'
import { type Difference, differencesOf } from '../../platform/settings.ts'
import { MODEL_DEFAULT, StoreEmbedder } from '../../semantic/index.ts'
import { readGuards } from '../../compare/index.ts'
import {
  readSemantic,
  requireThreshold,
  type SemanticOptions,
  type CheckedSemanticOptions,
} from './options.ts'
import { StoreSemantic } from './store-semantic.ts'
import type { SemanticSettings } from '../settings.ts'

/** Longer texts are not compared by default. */
const TEXT_BYTES_MAX = 64 * 1024

export class SemanticOpening {
  readonly options: CheckedSemanticOptions
  readonly embedder: StoreEmbedder
  /** What a store that is made now is to be. */
  readonly wanted: SemanticSettings | undefined

  constructor(
    options: CheckedSemanticOptions,
    embedder: StoreEmbedder,
    wanted: SemanticSettings | undefined,
  ) {
    this.options = options
    this.embedder = embedder
    this.wanted = wanted
  }

  /** `there`: the settings of a store that is there already. */
  static async open(
    there: SemanticSettings | undefined,
    input: SemanticOptions | undefined,
  ): Promise<SemanticOpening> {
    const options = readSemantic(input)
    const given = options.embedder ?? (there ? undefined : MODEL_DEFAULT)
    const embedder = new StoreEmbedder(given, options.callbackTimeoutMs)
    if (there) {
      refuseUnfinished(there)
      await expected(embedder, there)
      return new SemanticOpening(options, embedder, undefined)
    }
    return new SemanticOpening(options, embedder, await settingsOf(options, embedder))
  }

  /** What was asked for and is not so in the store. */
  differences(found: SemanticSettings): Difference[] {
    const { threshold, textBytesMax, guards } = this.options
    const asked = {
      similarityMin: threshold,
      textBytesMax,
      guards: guards === undefined ? undefined : guardText(readGuards(guards)),
    }
    return differencesOf({ ...found, guards: guardText(found.guards) }, asked, 'semantic.')
  }

  /** `path`: where the index is saved. */
  make(
    backend: Backend,
    settings: SemanticSettings,
    layout: Layout,
    path: string | undefined,
  ): StoreSemantic {
    const { options, embedder } = this
    embedder.expect(settings)
    // Guards of later versions than those recorded are off.
    const guards = { ...readGuards(false), ...settings.guards }
    return new StoreSemantic({ backend, settings, embedder, options, guards, layout, path })
  }
}

/** The settings of a new store. Its embedder must say who it is, so a model is opened now. */
export async function settingsOf(
  options: CheckedSemanticOptions,
  embedder: StoreEmbedder,
  model = embedder.model,
): Promise<SemanticSettings> {
  const similarityMin = requireThreshold(options.threshold)
  const guards = readGuards(options.guards)
  if (!embedder.isThere) {
    throw new PrestigeError(
      'INVALID_OPTIONS',
      "semantic.embedder is missing: an embedder of your own, the name of a model such as 'all-MiniLM-L6-v2', or the directory of one.",
    )
  }
  const opened = await embedder.get()
  return {
    embedder: opened.id,
    dimensions: opened.dimensions,
    ...(model !== undefined && { model }),
    similarityMin,
    guards,
    textBytesMax: options.textBytesMax ?? TEXT_BYTES_MAX,
  }
}

/** A name that the store does not know says nothing before its model is opened. */
async function expected(embedder: StoreEmbedder, there: SemanticSettings): Promise<void> {
  try {
    embedder.expect(there)
    if (there.model === undefined && embedder.model !== undefined) await embedder.get()
  } catch (error) {
    await embedder.close()
    throw error
  }
}

function refuseUnfinished({ isMigrating, embedder }: SemanticSettings): void {
  if (!isMigrating) return
  throw new PrestigeError(
    'SETTINGS_MISMATCH',
    `This store is on its way to embedder '${embedder}', and not all of its texts are decided about. Run \`prestige reembed\` to its end.`,
  )
}

function guardText(guards: Readonly<Record<string, boolean>>): string {
  const on = Object.entries(guards).flatMap(([name, isOn]) => (isOn ? [name] : []))
  return on.length === 0 ? 'none' : on.toSorted().join(', ')
}
