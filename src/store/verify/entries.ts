/** Checks the keys: each points at its content, is among its references, and expires as it says. */

import { type Bytes, EMPTY, equalBytes } from '../../platform/bytes.ts'
import {
  cell,
  type Cell,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import {
  digests,
  entries,
  type Entry,
  expiries,
  expiryKey,
  type Known,
  refKey,
  refs,
} from '../rows.ts'
import { count } from '../tallies.ts'
import { findContent, hasDigest } from './content.ts'
import { entryOf, knownOf, raw } from './raw.ts'
import { restoreEntries } from './restore.ts'
import { examineUnreachable } from './unreachable.ts'
import { keyName, type Walk } from './walk.ts'

/** Unreadable entries are restored together, because that takes a scan of the references. */
const UNREADABLE_AT_ONCE = 1000

export async function walkEntries(walk: Walk): Promise<void> {
  const unreadable: Buffer[] = []
  for await (const rows of walk.chunks(raw.entries)) {
    unreadable.push(...(await glanceAtEntries(walk, rows)))
    if (unreadable.length >= UNREADABLE_AT_ONCE) await restoreEntries(walk, unreadable.splice(0))
  }
  await restoreEntries(walk, unreadable)
}

/** Returns the keys of entries that cannot be read. */
async function glanceAtEntries(walk: Walk, rows: readonly Row<Bytes>[]): Promise<Buffer[]> {
  const unreadable: Buffer[] = []
  const readable: { key: Buffer; entry: Entry }[] = []
  for (const { key, value } of rows) {
    const entry = entryOf(value)
    if (entry) readable.push({ key, entry })
    else unreadable.push(key)
  }
  // Every key is looked up as readers do: a scan does not notice that the way to a page is damaged.
  const own = ({ key, entry }: { key: Buffer; entry: Entry }) => [
    cell(raw.entries, key),
    ...cellsOf(key, entry),
  ]
  const found = await walk.glance(readable.map(own))
  for (const [at, { key, entry }] of readable.entries()) {
    countEntry(walk, entry)
    const [lookedUp, known, ...marks] = found[at] ?? []
    if (lookedUp === undefined) await examineUnreachable(walk, raw.entries, key)
    const isFine = agrees(entry, knownOf(known)) && marks.every((mark) => mark !== undefined)
    if (!isFine) await examineEntry(walk, key)
  }
  return unreadable
}

function countEntry({ counts }: Walk, { expiresAt, bytes }: Entry): void {
  counts.keys++
  counts.valueBytes += bytes
  if (expiresAt !== undefined) counts.keysWithExpiry++
}

/** What an entry promises: a content, a reference and, if it expires, a row that says when. */
function cellsOf(key: Bytes, { id, digest, expiresAt }: Entry): Cell<Bytes>[] {
  const cells = [cell(raw.digests, digest), cell(raw.refs, refKey(id, key))]
  if (expiresAt !== undefined) cells.push(cell(raw.expiries, expiryKey(expiresAt, key)))
  return cells
}

function agrees(entry: Entry, known: Known | undefined): boolean {
  return known !== undefined && equalBytes(known.id, entry.id) && known.bytes === entry.bytes
}

interface Scene {
  readonly entry: Entry
  readonly known: Known | undefined
  readonly hasRef: boolean
  readonly hasExpiry: boolean
}

/** Everything a key's row promises, at one moment; `undefined` when the key is gone or unreadable. */
function* sceneOf(_scope: ReadScope, key: Bytes): Transaction<Scene | undefined> {
  const entry = entryOf((yield* read(cell(raw.entries, key)))[0])
  if (entry === undefined) return undefined
  const [known, ref, expiry] = yield* read(...cellsOf(key, entry))
  const hasExpiry = entry.expiresAt === undefined || expiry !== undefined
  return { entry, known: knownOf(known), hasRef: ref !== undefined, hasExpiry }
}

async function examineEntry(walk: Walk, key: Buffer): Promise<void> {
  const first = await walk.backend.read(sceneOf, key)
  if (first && !agrees(first.entry, first.known)) await examinePointer(walk, key, first)
  const scene = await walk.backend.read(sceneOf, key)
  if (scene?.hasRef === false) {
    const message = `Key ${keyName(key)} is not among the references of its content.`
    await walk.found('ref-missing', message, [key], () => walk.backend.run(writeRef, key))
  }
  if (scene?.hasExpiry === false) {
    const message = `Key ${keyName(key)} expires, but no collector would notice.`
    await walk.found('expiry-missing', message, [key], () => walk.backend.run(writeExpiry, key))
  }
}

/** The row of the digest is missing, names another content, or another length. */
async function examinePointer(walk: Walk, key: Buffer, { entry, known }: Scene): Promise<void> {
  const own = await findContent(walk, entry, entry.digest)
  const isOwn = hasDigest(own, entry.digest)
  if (known && equalBytes(known.id, entry.id)) {
    if (!isOwn || own?.bytes === entry.bytes) return // The content or its digest's row is to blame.
    const message = `Key ${keyName(key)} has ${own?.bytes} bytes, and its row says ${entry.bytes}.`
    const bytes = own?.bytes ?? 0
    return walk.found('entry-wrong', message, [key], () => walk.backend.run(resize, key, bytes))
  }
  if (isOwn) return // The content is sound but not listed, which is for the check of the contents.
  if (known && hasDigest(await findContent(walk, known, entry.digest), entry.digest)) {
    const message = `Key ${keyName(key)} does not point at the content of its digest.`
    return walk.found('entry-astray', message, [key], () =>
      walk.backend.run(repoint, key, entry.id),
    )
  }
  const isListed = own?.digest && knownOf(await walk.look(raw.digests, own.digest))
  if (isListed && equalBytes(isListed.id, entry.id)) {
    const message = `Key ${keyName(key)} points at a content that does not have its digest, and it cannot be determined which is right. Delete the key and put its value again.`
    return walk.found('entry-doubtful', message, [key])
  }
  const message = `The content of key ${keyName(key)} is gone. The value is lost unless it is put again.`
  return walk.found('key-lost', message, [key])
}

/** Linking to a marked content without taking the mark away would let the collector sweep it. */
function takeMarkAway(scope: Scope, digest: Bytes, known: Known): void {
  if (known.mark) scope.write(cell(digests, digest), known.marked(undefined))
}

function* writeRef(scope: Scope, key: Bytes): Transaction<boolean> {
  const scene = yield* sceneOf(scope, key)
  if (scene === undefined || scene.hasRef) return true
  const { entry, known } = scene
  scope.write(cell(refs, refKey(entry.id, key)), EMPTY)
  if (known && equalBytes(known.id, entry.id)) takeMarkAway(scope, entry.digest, known)
  return true
}

function* writeExpiry(scope: Scope, key: Bytes): Transaction<boolean> {
  const scene = yield* sceneOf(scope, key)
  const expiresAt = scene?.entry.expiresAt
  if (expiresAt !== undefined) scope.write(cell(expiries, expiryKey(expiresAt, key)), EMPTY)
  return true
}

function* resize(scope: Scope, key: Bytes, bytes: number): Transaction<boolean> {
  const scene = yield* sceneOf(scope, key)
  if (!scene || scene.known?.bytes !== bytes) return scene === undefined
  scope.write(cell(entries, key), scene.entry.with({ bytes }))
  return true
}

/** Points a key that points at `from` at the content that has its digest. */
export function* repoint(scope: Scope, key: Bytes, from: Bytes): Transaction<boolean> {
  const scene = yield* sceneOf(scope, key)
  if (!scene || !equalBytes(scene.entry.id, from)) return true
  const { entry, known } = scene
  if (!known || equalBytes(known.id, from)) return false
  takeMarkAway(scope, entry.digest, known)
  scope.write(
    cell(entries, key),
    entry.with({ id: known.id, bytes: known.bytes, exact: known.exact }),
  )
  scope.remove(cell(refs, refKey(from, key)))
  scope.write(cell(refs, refKey(known.id, key)), EMPTY)
  count(scope, { valueBytes: known.bytes - entry.bytes })
  return true
}
