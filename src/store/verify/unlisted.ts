/**
 * Contents that no digest names, settled when all digests have been looked at: listed again where keys still
 * point at them, brought together with a second copy, or removed.
 *
 * Bytes that a key can rightly claim are never removed: its entry names the content and has its digest.
 */

import { type Bytes, endOfPrefix, equalBytes } from '../../platform/bytes.ts'
import { cell, ID_BYTES, idTime, type Scope, type Transaction } from '../../backends/index.ts'
import { hex } from '../receipt.ts'
import { digests, Known, memberKey, members } from '../rows.ts'
import { type Content, findContent, hasDigest, removeContent } from './content.ts'
import { readUnstaged, sceneOf } from './contents.ts'
import { repoint } from './entries.ts'
import { mendForm } from './forms.ts'
import { entryOf, knownOf, raw } from './raw.ts'
import { KEYS_NAMED_MAX, type Walk } from './walk.ts'

/** More than so many are left to the next verification. */
const UNLISTED_MAX = 10_000

/** Ids of contents that no digest names, as far as is known. */
export class Unlisted {
  readonly #ids = new Set<string>()
  #isFull = false

  add(id: Buffer): void {
    if (this.#ids.size < UNLISTED_MAX) this.#ids.add(hex(id))
    else this.#isFull = true
  }

  /** A digest names it after all. */
  readonly claim = (id: Buffer): void => {
    this.#ids.delete(hex(id))
  }

  async settle(walk: Walk): Promise<void> {
    for (const id of this.#ids) await settleOne(walk, Buffer.from(id, 'hex'))
    if (!this.#isFull) return
    const message = `There are more than ${UNLISTED_MAX} contents that no digest names. Run verify again for the rest.`
    await walk.found('content-unknown', message)
  }
}

async function settleOne(walk: Walk, id: Buffer): Promise<void> {
  const content = await readUnstaged(walk, id)
  const scene = content && (await walk.backend.read(sceneOf, content))
  if (!content || !scene) return
  const { known } = scene
  if (known && equalBytes(known.id, id)) return
  const keys = await claimants(walk, content)
  const [firstKey] = keys
  if (firstKey === undefined) {
    const isHeld = (await walk.look(raw.heldBases, id)) !== undefined
    return isHeld ? undefined : foundUnknown(walk, content)
  }
  if (known) return foundDoubled(walk, content, keys)
  const message = `Content ${hex(id)} is sound and in use, but no digest names it.`
  await walk.found('content-unlisted', message, keys, () => relist(walk, content, firstKey))
}

/** The first keys that point at a content and have its digest. */
async function claimants(walk: Walk, { id, digest }: Content): Promise<Buffer[]> {
  const keys: Buffer[] = []
  if (digest === undefined) return keys
  for await (const { key: row } of walk.scan(raw.refs, { start: id, end: endOfPrefix(id) })) {
    const key = row.subarray(ID_BYTES)
    const entry = entryOf(await walk.look(raw.entries, key))
    if (!entry || !equalBytes(entry.id, id) || !equalBytes(entry.digest, digest)) continue
    keys.push(key)
    if (keys.length >= KEYS_NAMED_MAX) break
  }
  return keys
}

async function foundUnknown(walk: Walk, content: Content): Promise<void> {
  const message = `Nothing knows of content ${hex(content.id)} (${content.bytes} bytes).`
  await walk.found('content-unknown', message, [], () => removeContent(walk, content))
}

async function foundDoubled(walk: Walk, content: Content, keys: readonly Buffer[]): Promise<void> {
  const message = `Content ${hex(content.id)} is a second copy of one that is listed, and keys point at it.`
  await walk.found('content-doubled', message, keys, async () => {
    return (await moveKeys(walk, content)) && removeContent(walk, content)
  })
}

/** Points every key at the listed copy, provided that it is sound. */
async function moveKeys(walk: Walk, { id, digest }: Content): Promise<boolean> {
  const listed = digest && knownOf(await walk.look(raw.digests, digest))
  if (!digest || !listed || !hasDigest(await findContent(walk, listed, digest), digest))
    return false
  for await (const { key: row } of walk.scan(raw.refs, { start: id, end: endOfPrefix(id) })) {
    if (!(await walk.backend.run(repoint, row.subarray(ID_BYTES), id))) return false
  }
  return true
}

/** Lists a content again, as far as its data is known: its id contains when it was stored. */
async function relist(walk: Walk, content: Content, firstKey: Buffer): Promise<boolean> {
  if (!walk.how.profile) return false // Its form cannot be computed without the function.
  if (!(await walk.backend.run(list, content, firstKey))) return false
  return !content.form || mendForm(walk, content.form)
}

function* list(scope: Scope, content: Content, firstKey: Bytes): Transaction<boolean> {
  const scene = yield* sceneOf(scope, content)
  const { id, digest, form, exact, bytes } = content
  if (!scene || !digest) return false
  if (scene.known) return equalBytes(scene.known.id, id)
  const storedAt = idTime(id)
  scope.write(cell(digests, digest), Known.of({ id, bytes, storedAt, form, exact, firstKey }))
  if (form) scope.write(cell(members, memberKey(form, id)), digest)
  scope.remove(cell(raw.heldBases, id))
  return true
}
