/**
 * The index where buckets are cells, which a transaction that finds nothing relies on.
 *
 * A bucket that is full is abandoned: it names nobody, for ever. Where buckets have pages, it is continued instead: what
 * comes next goes to the next page, and a search reads all of them. A page that is continued never gains an id, so only
 * the last page, or the absence of one, is relied on; whoever inserts writes no other.
 *
 * With pages, signatures are kept in memory too, since a search ranks all that its buckets name. A signature belongs to
 * its id for ever; whether the representative is still there is found by whoever reads its row.
 */

import { type Bytes, concat, EMPTY, equalBytes, latin1 } from '../platform/bytes.ts'
import { cell, type Cell, glance, read, type Scope, type Transaction } from '../backends/index.ts'
import type { Candidate } from '../fingerprint/index.ts'
import type { SignatureLayout } from './scheme/scheme.ts'
import { type Bucket, bucketKey, ID_BYTES, type NearSpaces, type Representative } from './rows.ts'

export interface BucketOptions {
  /** The most that one search measures. */
  readonly candidatesMax: number
  /** Ids in one bucket, or in one page of it. */
  readonly bucketMax: number
  /** Full buckets are continued in pages. For small signatures. Default: they are abandoned. */
  readonly hasPages?: boolean | undefined
}

interface FoundInBuckets {
  readonly candidates: readonly Candidate[]
  readonly passedOver: number
  readonly relied: readonly Cell<unknown>[]
}

/** Signatures in memory: some 20 MB of those of vectors. */
const SIGNATURES_MAX = 100_000

interface Page {
  readonly cell: Cell<Bucket>
  readonly bucket: Bucket | undefined
}

export class Buckets<Signature> {
  readonly #spaces: NearSpaces
  readonly #scheme: SignatureLayout<Signature>
  readonly #options: BucketOptions
  readonly #signatures = new Map<string, Signature>()

  constructor(spaces: NearSpaces, scheme: SignatureLayout<Signature>, options: BucketOptions) {
    this.#spaces = spaces
    this.#scheme = scheme
    this.#options = options
  }

  /** The first page of each. */
  cellsOf(partition: Bytes, signature: Signature): Cell<Bucket>[] {
    const keys = this.#scheme.bandKeys(signature)
    return Array.from(keys, (hash, band) => this.#page(bucketKey(partition, band, hash), 0))
  }

  *find(partition: Bytes, signature: Signature, estimateMin: number): Transaction<FoundInBuckets> {
    const chains = yield* this.#chainsOf(partition, signature)
    // An abandoned bucket names nobody for ever, so nothing can rest on it.
    const relied = chains.flatMap((pages) => lastOf(pages)?.cell ?? [])
    const abandoned = chains.length - relied.length
    const buckets = chains.flatMap((pages) => pages.map(({ bucket }) => bucket))
    const { candidatesMax, hasPages } = this.#options
    const max = hasPages ? Infinity : candidatesMax
    const { ids, passedOver } = mostShared(buckets, max)
    const signatures = yield* this.#signaturesOf(partition, ids)
    const candidates: Candidate[] = []
    for (const [at, id] of ids.entries()) {
      const other = signatures[at]
      if (other === undefined) continue
      const estimate = this.#scheme.estimate(signature, other)
      if (estimate >= estimateMin) candidates.push({ id, estimate })
    }
    candidates.sort((one, other) => other.estimate - one.estimate || one.id.compare(other.id))
    return {
      candidates: candidates.slice(0, candidatesMax),
      passedOver: abandoned + passedOver,
      relied,
    }
  }

  *fill(scope: Scope, partition: Bytes, id: Bytes, signature: Signature): Transaction<void> {
    const { bucketMax, hasPages = false } = this.#options
    for (const pages of yield* this.#chainsOf(partition, signature)) {
      const last = lastOf(pages)
      if (!last) continue
      scope.rely(last.cell)
      const ids = concat(last.bucket?.ids ?? EMPTY, id)
      const count = ids.byteLength / ID_BYTES
      if (hasPages) {
        scope.write(last.cell, { isFull: false, isContinued: count >= bucketMax, ids })
      } else if (count > bucketMax) scope.write(last.cell, { isFull: true, ids: EMPTY })
      else scope.write(last.cell, { isFull: false, ids })
    }
  }

  *leave(scope: Scope, partition: Bytes, id: Bytes, signature: Signature): Transaction<void> {
    for (const pages of yield* this.#chainsOf(partition, signature)) {
      // One that was read before this id was added to it does not name it yet.
      const last = lastOf(pages)
      if (last) scope.rely(last.cell)
      for (const { cell: place, bucket } of pages) {
        const ids = idsOf(bucket)
        const left = ids.filter((other) => !equalBytes(other, id))
        if (!bucket || left.length === ids.length) continue
        // What others have added or taken since must not be written over.
        scope.rely(place)
        if (left.length === 0 && !bucket.isContinued) scope.remove(place)
        else scope.write(place, { ...bucket, ids: Buffer.concat(left) })
      }
    }
  }

  /** Whether every bucket names it, but for those that are abandoned. */
  *areNaming(partition: Bytes, id: Bytes, signature: Signature): Transaction<boolean> {
    const chains = yield* this.#chainsOf(partition, signature)
    yield* read(...chains.flatMap((pages) => pages.map((page) => page.cell)))
    const isIn = ({ bucket }: Page) => idsOf(bucket).some((one) => equalBytes(one, id))
    return chains.every((pages) => !lastOf(pages) || pages.some(isIn))
  }

  #page(first: Bytes, page: number): Cell<Bucket> {
    if (page === 0) return cell(this.#spaces.buckets, first)
    const number = Buffer.alloc(4)
    number.writeUInt32BE(page)
    return cell(this.#spaces.buckets, concat(first, number))
  }

  /** All pages of all buckets of a signature, twice as many in every round of reads. */
  *#chainsOf(partition: Bytes, signature: Signature): Transaction<Page[][]> {
    const chains = this.cellsOf(partition, signature).map((first) => {
      const pages: Page[] = []
      return { first, pages }
    })
    let rest = chains
    for (let count = 1; rest.length > 0; count *= 2) {
      const cells = rest.flatMap(({ first, pages }) =>
        Array.from({ length: count }, (_, at) => this.#page(first.key, pages.length + at)),
      )
      const found = yield* glance(...cells)
      for (const [at, { pages }] of rest.entries()) {
        for (let page = at * count; page < (at + 1) * count; page++) {
          if (pages.length > 0 && !pages.at(-1)?.bucket?.isContinued) break
          const place = cells[page]
          if (place) pages.push({ cell: place, bucket: found[page] })
        }
      }
      rest = rest.filter(({ pages }) => pages.at(-1)?.bucket?.isContinued)
    }
    return chains.map(({ pages }) => pages)
  }

  *#signaturesOf(partition: Bytes, ids: readonly Buffer[]): Transaction<(Signature | undefined)[]> {
    const names = ids.map((id) => latin1(id))
    const found = names.map((name) => this.#signatures.get(name))
    const unknown = [...ids.keys()].filter((at) => found[at] === undefined)
    const cells = unknown.map((at) => this.#representative(partition, ids[at] ?? EMPTY))
    const rows = yield* glance(...cells)
    const fresh = new Map<string, Signature>()
    for (const [nth, at] of unknown.entries()) {
      const row = rows[nth]
      if (!row) continue
      // In memory of its own: a row may be a part of a much longer reply.
      const signature = this.#scheme.fromBytes(Buffer.from(row.signature))
      found[at] = signature
      fresh.set(names[at] ?? '', signature)
    }
    if (this.#options.hasPages) this.#remember(fresh)
    return found
  }

  #remember(fresh: ReadonlyMap<string, Signature>): void {
    if (this.#signatures.size + fresh.size > SIGNATURES_MAX) this.#signatures.clear()
    for (const [id, signature] of fresh) this.#signatures.set(id, signature)
  }

  #representative(partition: Bytes, id: Bytes): Cell<Representative> {
    return cell(this.#spaces.representatives, concat(partition, id))
  }
}

/** Where the next id goes; `undefined`: nowhere, the bucket is abandoned. */
function lastOf(pages: readonly Page[]): Page | undefined {
  const last = pages.at(-1)
  return last?.bucket?.isFull ? undefined : last
}

function idsOf(bucket: Bucket | undefined): Buffer[] {
  const ids: Buffer[] = []
  if (!bucket) return ids
  for (let at = 0; at < bucket.ids.byteLength; at += ID_BYTES) {
    ids.push(bucket.ids.subarray(at, at + ID_BYTES))
  }
  return ids
}

/** Signatures are read of so many; those that share most bands, of equals the oldest. */
function mostShared(
  buckets: readonly (Bucket | undefined)[],
  max: number,
): { readonly ids: readonly Buffer[]; readonly passedOver: number } {
  const shared = new Map<string, { readonly id: Buffer; count: number }>()
  for (const bucket of buckets) {
    for (const id of idsOf(bucket)) {
      const known = shared.get(latin1(id))
      if (known) known.count++
      else shared.set(latin1(id), { id, count: 1 })
    }
  }
  const all = [...shared.values()]
  if (all.length <= max) return { ids: all.map(({ id }) => id), passedOver: 0 }
  const ranked = all.toSorted((one, other) => other.count - one.count || one.id.compare(other.id))
  return { ids: ranked.slice(0, max).map(({ id }) => id), passedOver: ranked.length - max }
}
