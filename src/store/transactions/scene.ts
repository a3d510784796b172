/** What a put finds in the store: its key, its bytes, their canonical form, and what the value is like. */

import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import type { NearHit, NearValue, NotCompared } from '../near/store-near.ts'
import type { Refused } from '../receipt.ts'
import { digests, entries, type Entry, type Form, forms, type Known } from '../rows.ts'
import type { Meaning } from '../semantic/store-semantic.ts'
import { requireMet } from './condition.ts'
import type { Prepared, PutPrerequisite } from './put.ts'
import { codedAgainst } from '../contents/deltas.ts'
import { requireStaged } from '../contents/stage-content.ts'

export interface Scene {
  readonly entry: Entry | undefined
  /** The content this value is the same as. */
  readonly known: Known | undefined
  /** What that content is, or will be, known by. */
  readonly digest: Buffer
  readonly form: Form | undefined
  readonly near: NearScene | undefined
  readonly meant?: MeantScene
  readonly notCompared?: NotCompared
}

/** What a search for near duplicates has found. */
export interface NearScene {
  readonly value: NearValue
  readonly hit: NearHit | undefined
  /** Where there is no hit: the most similar that is not the same. */
  readonly refused?: Refused | undefined
  /** The content of the hit. */
  readonly known: Known | undefined
  readonly passedOver: number
  /** The row of the value as a delta of that content, where that pays. */
  readonly delta?: Buffer | undefined
}

/** What a text means, and that it still stands. */
export interface MeantScene {
  readonly meaning: Meaning
  /** The content it means the same as. */
  readonly known: Known | undefined
}

type SearchPrerequisite = Extract<PutPrerequisite, 'sketch' | 'measure' | 'embed'>

export function* look(scope: Scope, prepared: Prepared): Transaction<Scene | SearchPrerequisite> {
  const { key, digest, form, staged: id, near, condition } = prepared
  const { semantic } = prepared.keeping
  const [entry, known] = yield* read(cell(entries, key), cell(digests, digest))
  if (condition !== undefined) requireMet(condition, key, entry, scope.now())
  const formRow = form && (yield* read(cell(forms, form)))[0]
  if (id !== undefined && known === undefined) yield* requireStaged(id)
  const scene = { entry, known, digest, form: formRow, near: undefined }
  if (known !== undefined || (near === undefined && semantic === undefined)) return scene
  if (scope.serial && near?.isReady === false) return 'sketch'
  const value = near?.get()
  if (typeof value === 'string') return { ...scene, notCompared: value }
  const compared = value ? yield* lookNear(scope, prepared, value, scene) : scene
  if (typeof compared === 'string' || semantic === undefined || compared.near?.hit) return compared
  return yield* lookMeaning(prepared, compared)
}

function* lookMeaning(
  { meaning, keeping: { semantic }, sharesNear }: Prepared,
  scene: Scene,
): Transaction<Scene | 'embed'> {
  if (meaning === undefined || semantic === undefined) return 'embed'
  if (typeof meaning === 'string') return { ...scene, notCompared: meaning }
  const known = yield* semantic.settle(meaning)
  if (known === 'again') return 'embed'
  const meant = { meaning, known }
  if (!known || !meaning.hit || !sharesNear) return { ...scene, meant }
  return { ...scene, known, digest: meaning.hit.digest, meant }
}

function* lookNear(
  scope: Scope,
  { keeping, sharesNear, staged, coding, layout }: Prepared,
  value: NearValue,
  scene: Scene,
): Transaction<Scene | 'measure'> {
  const { near } = keeping
  if (!near) return scene
  const { hits, refused, relied, passedOver, deferred } = yield* near.searchBriefly(value, scope)
  if (deferred > 0) return 'measure'
  const [hit] = hits
  if (hit === undefined) {
    scope.rely(...relied)
    const apart = yield* near.refusedOf(refused)
    return { ...scene, near: { value, hit, refused: apart, known: undefined, passedOver } }
  }
  scope.rely(near.relied(hit))
  const known = yield* near.knownOf(hit)
  const found = { value, hit, known, passedOver }
  if (!sharesNear) {
    const base = { ...hit.payload, id: hit.id }
    const delta = staged ? undefined : yield* codedAgainst(coding, base, layout)
    return { ...scene, near: { ...found, delta } }
  }
  const shared = hit.payload.digest
  scope.rely(cell(digests, shared))
  return { ...scene, known, digest: shared, near: found }
}
