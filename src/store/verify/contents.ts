/**
 * Checks the contents: every byte is read, every digest computed again, and each content must be
 * listed under its digest, be a member of its form, and be referred to or noted for the collector.
 *
 * Contents and references are both ordered by content id, so they are walked side by side.
 */

import { asBuffer, type Bytes, equalBytes, startsWith } from '../../platform/bytes.ts'
import {
  cell,
  type Cell,
  first,
  ID_BYTES,
  read,
  type ReadScope,
  type Row,
  type Scope,
  type Transaction,
} from '../../backends/index.ts'
import { hex } from '../receipt.ts'
import { digests, Known, memberKey, members, released } from '../rows.ts'
import {
  type Content,
  type ContentSpace,
  contentSpaces,
  hasDigest,
  Joiner,
  partOf,
  readContent,
} from './content.ts'
import type { DigestSums } from './digest-sums.ts'
import { mendForm } from './forms.ts'
import { knownOf, raw } from './raw.ts'
import { examineUnreachable } from './unreachable.ts'
import { chunked, type Walk } from './walk.ts'

/** How often an engine that cannot ask for a first row inside a body is asked again. */
const LOOKS = 3

/** What is seen to be listed is added to `listed`, what is not, by its id, to `unlisted`. */
export async function walkContents(
  walk: Walk,
  listed: DigestSums,
  unlisted: { add(id: Buffer): void },
): Promise<void> {
  for (const space of contentSpaces) await walkSpace(walk, space, listed, unlisted)
}

async function walkSpace(
  walk: Walk,
  space: ContentSpace,
  listed: DigestSums,
  unlisted: { add(id: Buffer): void },
): Promise<void> {
  const references = new References(walk)
  try {
    for await (const contents of chunked(joined(walk, space))) {
      const groups: Cell<Bytes>[][] = []
      for (const content of contents) {
        groups.push(cellsOf(content, await references.has(content.id)))
      }
      const found = await walk.glance(groups)
      for (const [at, content] of contents.entries()) {
        if (walk.backend.serial) await lookUp(walk, content)
        const isListed = isFine(walk, content, found[at])
        const digest = isListed ? content.digest : await examine(walk, content.id)
        if (digest === 'unlisted') unlisted.add(content.id)
        else if (digest) listed.add(digest)
      }
    }
  } finally {
    await references.close()
  }
}

/** As readers do. Where rows are in a tree of pages, a scan may find what they miss. */
async function lookUp(walk: Walk, { row, space }: Content): Promise<void> {
  if (await walk.look(space, row)) return
  await examineUnreachable(walk, space, asBuffer(row))
}

async function* joined(walk: Walk, space: ContentSpace): AsyncGenerator<Content> {
  let joiner: Joiner | undefined
  for await (const { key, value } of walk.scan(space)) {
    const part = partOf(space, key)
    if (part === undefined) {
      await walk.foundUnaccounted(space, key, 'is not a part of a content.')
      continue
    }
    if (!joiner || !startsWith(key, joiner.id)) {
      if (joiner) yield joiner.end()
      joiner = new Joiner(walk.how, key.subarray(0, ID_BYTES), space)
    }
    await joiner.addRow(walk, part, value)
  }
  if (joiner) yield joiner.end()
}

/** Which contents have a reference, asked for in the order of their ids. */
class References {
  readonly #rows: AsyncGenerator<Row<Bytes>>
  #key: Buffer | undefined
  #isAtEnd = false

  constructor(walk: Walk) {
    this.#rows = walk.scan(raw.refs)
  }

  async has(id: Buffer): Promise<boolean> {
    while (!this.#isAtEnd && (!this.#key || isBefore(this.#key, id))) {
      const next = await this.#rows.next()
      this.#isAtEnd = next.done === true
      this.#key = next.done ? undefined : next.value.key
    }
    return this.#key !== undefined && startsWith(this.#key, id)
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined)
  }
}

function isBefore(row: Buffer, id: Buffer): boolean {
  return row.compare(id) < 0
}

function cellsOf({ id, digest, form }: Content, hasReference: boolean): Cell<Bytes>[] {
  if (digest === undefined) return []
  const cells = [cell(raw.digests, digest)]
  if (form) cells.push(cell(raw.members, memberKey(form, id)))
  if (!hasReference) cells.push(cell(raw.released, digest))
  return cells
}

function isFine(walk: Walk, content: Content, found: readonly (Bytes | undefined)[] = []): boolean {
  const { id, digest, bytes, form } = content
  const known = knownOf(found[0])
  if (!digest || !known || !equalBytes(known.id, id) || known.bytes !== bytes) return false
  if (!hasRightForm(walk, content, known) || !hasDigest(content, digest, known.exact)) return false
  const [member] = form ? found.slice(1) : [digest]
  return member !== undefined && equalBytes(member, digest) && found.every((row) => row)
}

/** A store written with a function that was not given says nothing about forms. */
function hasRightForm({ how }: Walk, { form }: Content, known: Known): boolean {
  if (how.profile === undefined) return true
  return form && known.form ? equalBytes(form, known.form) : form === known.form
}

interface Scene {
  readonly known: Known | undefined
  readonly member: Bytes | undefined
}

/**
 * Looks closer at a content: the digest it is listed under; `undefined` when it need not be listed, because
 * it is gone or an upload under way.
 *
 * Why this is not fooled by others: what is not staged now is complete, and can only vanish. So a content
 * that was not staged before it was read, and is there and still not staged after, was read as it is.
 */
async function examine(walk: Walk, id: Buffer): Promise<Buffer | 'unlisted' | undefined> {
  const content = await readUnstaged(walk, id)
  if (content === undefined) return undefined
  const scene = await walk.backend.read(sceneOf, content)
  if (scene === undefined) return undefined
  const { known } = scene
  const { digest } = content
  if (!digest || !known || !equalBytes(known.id, id)) return 'unlisted'
  // Damaged in a way that its canonical form ignores: for the scan of the digests, which miss it now.
  if (!hasDigest(content, digest, known.exact)) return undefined
  if (known.bytes !== content.bytes || !hasRightForm(walk, content, known)) {
    await foundWrong(walk, content, known)
  } else {
    await examineMember(walk, content, digest, scene.member)
  }
  await examineUse(walk, id, digest)
  return digest
}

/** A content that is not staged; `undefined` when it is, or is gone. */
export async function readUnstaged(walk: Walk, id: Buffer): Promise<Content | undefined> {
  if ((await walk.look(raw.staged, id)) !== undefined) return undefined
  return readContent(walk, id)
}

/** Where a content is listed, at one moment; `undefined` when it is gone or staged. */
export function* sceneOf(
  scope: ReadScope,
  { id, row, space, digest, form }: Content,
): Transaction<Scene | undefined> {
  const cells = [cell(space, row), cell(raw.staged, id)]
  if (digest) cells.push(cell(raw.digests, digest))
  if (digest && form) cells.push(cell(raw.members, memberKey(form, id)))
  const [part, staged, known, member] = yield* read(...cells)
  // A content that is swept between two reads would look unlisted; rows that never change must be named.
  scope.rely(...cells)
  return part && !staged ? { known: knownOf(known), member } : undefined
}

async function foundWrong(walk: Walk, content: Content, known: Known): Promise<void> {
  const { id, bytes, form } = content
  const what = known.bytes === bytes ? 'canonical form' : 'length'
  const message = `The row of content ${hex(id)} in digests has a wrong ${what}.`
  await walk.found('digest-wrong', message, await walk.keysOf(id), async () => {
    if (!(await walk.backend.run(rewrite, content, walk.how.profile !== undefined))) return false
    const isMended = !known.form || (await mendForm(walk, known.form))
    return isMended && (!form || (await mendForm(walk, form)))
  })
}

/** Corrects what can be derived from the content's own bytes. */
function* rewrite(
  scope: Scope,
  { id, digest, bytes, form }: Content,
  checksForms: boolean,
): Transaction<boolean> {
  const known = digest && knownOf((yield* read(cell(raw.digests, digest)))[0])
  if (!digest || !known || !equalBytes(known.id, id)) return true
  const { storedAt, mark, firstKey, exact } = known
  const right = checksForms ? form : known.form
  const listing = Known.of({ id, bytes, storedAt, mark, firstKey, form: right, exact })
  scope.write(cell(digests, digest), listing)
  if (known.form) scope.remove(cell(members, memberKey(known.form, id)))
  if (right) scope.write(cell(members, memberKey(right, id)), digest)
  return true
}

async function examineMember(
  walk: Walk,
  content: Content,
  digest: Buffer,
  member: Bytes | undefined,
): Promise<void> {
  const { id, form } = content
  if (!form || (member && equalBytes(member, digest))) return
  const message = `Content ${hex(id)} is not among the members of its canonical form.`
  await walk.found('member-missing', message, await walk.keysOf(id), async () => {
    return (await walk.backend.run(rewrite, content, true)) && mendForm(walk, form)
  })
}

/** An unreferenced content must be noted, or no collector ever looks at it. */
async function examineUse(walk: Walk, id: Buffer, digest: Buffer): Promise<void> {
  if (!(await isForgotten(walk, id, digest))) return
  const message = `Nothing refers to content ${hex(id)}, and no collector would notice.`
  await walk.found('content-unreferenced', message, [], () =>
    walk.backend.run(noteReleased, id, digest),
  )
}

/**
 * Elsewhere than on serial engines the note and the references cannot be seen at one moment. A content that
 * is released and linked to again between the two looks could look forgotten, but not every time.
 */
async function isForgotten(walk: Walk, id: Buffer, digest: Buffer): Promise<boolean> {
  const { backend } = walk
  if (backend.serial) return backend.read(isForgottenNow, id, digest)
  for (let looks = 0; looks < LOOKS; looks++) {
    if (!(await backend.read(hasNoNote, id, digest))) return false
    if (await walk.firstKey(raw.refs, id)) return false
  }
  return true
}

function* hasNoNote(_scope: ReadScope, id: Buffer, digest: Buffer): Transaction<boolean> {
  const [row, note] = yield* read(cell(raw.digests, digest), cell(raw.released, digest))
  const known = knownOf(row)
  return known !== undefined && equalBytes(known.id, id) && note === undefined
}

function* isForgottenNow(scope: ReadScope, id: Buffer, digest: Buffer): Transaction<boolean> {
  if (!(yield* hasNoNote(scope, id, digest))) return false
  return (yield* first(raw.refs, id)) === undefined
}

/** A note too many does no harm: the collector looks, and drops it. */
function* noteReleased(scope: Scope, id: Buffer, digest: Buffer): Transaction<boolean> {
  if (yield* hasNoNote(scope, id, digest)) scope.write(cell(released, digest), scope.id())
  return true
}
