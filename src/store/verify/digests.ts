/**
 * Checks the digests: they are counted, and each must name a content that has it.
 *
 * The check of the contents has determined which digests do. Only where the two disagree, because something
 * is wrong or was written meanwhile, are contents read once more.
 */

import { type Bytes, equalBytes } from '../../platform/bytes.ts'
import { cell, read, type Scope, type Transaction } from '../../backends/index.ts'
import { DIGEST_BYTES } from '../../fingerprint/index.ts'
import { hex } from '../receipt.ts'
import { digests, type Known, memberKey, members } from '../rows.ts'
import { count } from '../tallies.ts'
import { findContent, hasDigest, type ReadContent, removeContent } from './content.ts'
import { DigestSums } from './digest-sums.ts'
import { mendForm } from './forms.ts'
import { knownOf, raw } from './raw.ts'
import { KEYS_NAMED_MAX, rowName, type Walk } from './walk.ts'

/** `confirmed`: the digests of which a content was seen. Ids that turn out to be named are `claimed`. */
export async function walkDigests(
  walk: Walk,
  confirmed: DigestSums,
  claimed: (id: Buffer) => void,
): Promise<void> {
  const listed = new DigestSums()
  for await (const { key, value } of walk.scan(raw.digests)) {
    const known = knownOf(value)
    if (key.byteLength !== DIGEST_BYTES) {
      await walk.foundUnaccounted(raw.digests, key, 'is not a digest.')
    } else if (known) {
      listed.add(key)
      walk.counts.contents++
      walk.counts.contentBytes += known.bytes
    } else {
      await foundUnreadable(walk, key)
    }
  }
  for (const range of listed.differences(confirmed)) {
    for await (const { key } of walk.scan(raw.digests, range)) {
      if (key.byteLength === DIGEST_BYTES) await examine(walk, key, claimed)
    }
  }
}

/** If its content is there, it is listed again when the contents that are not listed are settled. */
async function foundUnreadable(walk: Walk, digest: Buffer): Promise<void> {
  const message = `${rowName(raw.digests, digest)} cannot be read.`
  await walk.found('row-unreadable', message, [], () => walk.backend.run(removeUnreadable, digest))
}

function* removeUnreadable(scope: Scope, digest: Bytes): Transaction<boolean> {
  const [row] = yield* read(cell(raw.digests, digest))
  if (row && !knownOf(row)) scope.remove(cell(digests, digest))
  return true
}

/**
 * A content is complete as long as a digest names it: its parts are written before and removed after. So
 * what is read between two looks that find it named is what there is.
 */
async function examine(walk: Walk, digest: Buffer, claimed: (id: Buffer) => void): Promise<void> {
  const known = knownOf(await walk.look(raw.digests, digest))
  if (known === undefined) return
  const content = await findContent(walk, known, digest)
  const again = knownOf(await walk.look(raw.digests, digest))
  if (!again || !equalBytes(again.id, known.id)) return
  if (content === undefined) return foundUnusable(walk, digest, known, undefined)
  if (hasDigest(content, digest, known.exact)) {
    claimed(known.id)
    return foundExtra(walk, content)
  }
  const owner = content.digest && knownOf(await walk.look(raw.digests, content.digest))
  const isOwn = hasDigest(content, digest)
  if (!isOwn && owner && equalBytes(owner.id, known.id)) return foundAstray(walk, digest, known)
  claimed(known.id)
  return foundUnusable(walk, digest, known, content)
}

async function foundExtra(walk: Walk, { extra, space }: ReadContent): Promise<void> {
  for (const row of extra) {
    await walk.foundUnaccounted(space, row, 'is behind the last part of its content.')
  }
}

async function foundAstray(walk: Walk, digest: Buffer, known: Known): Promise<void> {
  const message = `Digest ${hex(digest)} names content ${hex(known.id)}, which has another digest.`
  await walk.found('digest-astray', message, [], () => delist(walk, digest, known))
}

/** Missing or damaged. Its keys stay, so that reading them fails by name instead of finding nothing. */
async function foundUnusable(
  walk: Walk,
  digest: Buffer,
  known: Known,
  content: ReadContent | undefined,
): Promise<void> {
  const keys = await walk.keysOf(known.id)
  const isOut = await walk.mended(async () => {
    if (!(await delist(walk, digest, known))) return false
    return content === undefined || removeContent(walk, content)
  })
  const what = content ? 'damaged: its bytes are not those that were put' : 'gone'
  const message = `Content ${hex(known.id)} is ${what}. ${lossOf(keys.length)}`
  const kind = content ? 'content-damaged' : 'content-missing'
  walk.findings.add({ kind, message, keys, repaired: isOut && keys.length === 0 })
}

function lossOf(keys: number): string {
  if (keys === 0) return 'No key refers to it.'
  const many = keys === KEYS_NAMED_MAX ? `${keys} or more keys refer` : `${keys} key(s) refer`
  return `${many} to it; their values are lost unless they are put again.`
}

/** Takes the digest out, so that nobody is ever linked to it, and its membership in a form with it. */
async function delist(walk: Walk, digest: Buffer, { id, form }: Known): Promise<boolean> {
  await walk.backend.run(removeListing, digest, id)
  return form === undefined || mendForm(walk, form)
}

function* removeListing(scope: Scope, digest: Bytes, id: Bytes): Transaction<void> {
  const known = knownOf((yield* read(cell(raw.digests, digest)))[0])
  if (!known || !equalBytes(known.id, id)) return
  scope.remove(cell(digests, digest))
  count(scope, { contents: -1, contentBytes: -known.bytes })
  const { form } = known
  if (form) yield* leaveForm(scope, form, id, digest)
}

/** The row may be that of another digest's content, when this one names it wrongly. */
function* leaveForm(scope: Scope, form: Bytes, id: Bytes, digest: Bytes): Transaction<void> {
  const member = cell(members, memberKey(form, id))
  const [row] = yield* read(member)
  if (row && equalBytes(row, digest)) scope.remove(member)
}
