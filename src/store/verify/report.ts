/** What verify is asked for, what it reports, and the list of what it has found so far. */

import type { CanonicalProfile } from '../../canonical/index.ts'
import type { Layout } from '../contents/layout.ts'
import type { ChangeFeed } from '../changes/feed.ts'
import type { Tracking } from '../lifecycle/tracking.ts'
import type { StoreNear } from '../near/store-near.ts'
import type { StoreSemantic } from '../semantic/store-semantic.ts'

export interface VerifyOptions {
  /** Mend what can be mended. One at a time: two repairs at once could both correct the same tally. */
  readonly repair?: boolean
  /** Stops when it is aborted, with its reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Stops after so many milliseconds, with `TIMED_OUT`. Default: none. */
  readonly timeoutMs?: number | undefined
  /** Called now and then with what has been read so far. */
  readonly onProgress?: (progress: { readonly rows: number; readonly bytes: number }) => void
}

/** Public names: renaming one is a breaking change. */
export type ProblemKind =
  /** A page of the file is damaged. What was on it is lost; `salvage` copies the rest. */
  | 'page-damaged'
  /** The rows of a space cannot all be read. Nothing is repaired from then on: what is missing may be there. */
  | 'space-unreadable'
  /** A scan finds a row, and a lookup does not: readers miss it. Nothing is repaired; salvage copies it. */
  | 'row-unreachable'
  /** A row cannot be decoded. Repaired from other rows where they hold enough. */
  | 'row-unreadable'
  /** A row that nothing accounts for. Removed. */
  | 'row-unaccounted'
  /** A key without its row in `refs`. Written. */
  | 'ref-missing'
  /** A key that expires without its row in `expiries`. Written. */
  | 'expiry-missing'
  /** A key whose recorded length is not that of its content. Corrected. */
  | 'entry-wrong'
  /** A key points past the content of its digest, which is there and sound. Pointed at it. */
  | 'entry-astray'
  /** A key's digest is not that of the content it points at, and nothing shows which is right. Left alone. */
  | 'entry-doubtful'
  /** A key whose content is gone. Cannot be mended; putting the value again mends it. */
  | 'key-lost'
  /** A content whose bytes are not those of its digest. Taken out, so that it is never returned or linked to. */
  | 'content-damaged'
  /** A digest whose content is not there at all. Taken out. */
  | 'content-missing'
  /** A sound content that keys point at, but no digest. Listed again. */
  | 'content-unlisted'
  /** A second copy of a content, with keys pointing at it. They are moved to the listed copy. */
  | 'content-doubled'
  /** A content that no key and no digest points at. Removed. */
  | 'content-unknown'
  /** A content without references that no collector would ever look at. Noted for the collector. */
  | 'content-unreferenced'
  /** Chunks of contents cannot be read. Cannot be mended; putting the values again mends it. */
  | 'pack-damaged'
  /** A chunk of a content without a row that says where it is. Written, where a pack has it. */
  | 'chunk-lost'
  /** A content that is kept as a delta, without the row by which its base is kept for it. Written. */
  | 'delta-unlisted'
  /** A digest's row with a wrong length or canonical form. Corrected. */
  | 'digest-wrong'
  /** A digest that names the content of another digest. Removed. */
  | 'digest-astray'
  /** A content that is not, or wrongly, among the members of its canonical form. Written. */
  | 'member-missing'
  /** Contents have this canonical form, but nothing stands for it. The oldest is chosen. */
  | 'form-missing'
  /** What stands for a canonical form does not have it. The oldest content that has it is chosen. */
  | 'form-wrong'
  /** A text that is neither linked to what it is like nor a representative of it. Re-evaluated. */
  | 'link-missing'
  /** What a content is linked to is gone or no representative, and no collector would notice. Re-evaluated. */
  | 'link-orphaned'
  /** A link that is not what a comparison of the two texts gives. Re-evaluated. */
  | 'link-wrong'
  /** A link without its row in `near.linked`. Written. */
  | 'linked-missing'
  /** A representative that searches would miss, or whose journal is out of step. Reinserted into the index. */
  | 'index-wrong'
  /** Changes of the feed are missing or cannot be read. Counted as trimmed: cursors from before them are refused. */
  | 'changes-missing'
  /** A text whose vectors are missing or cannot be read. Embedded again, where there is an embedder. */
  | 'vectors-missing'
  /** A key's reference records a similarity that nobody can have measured. Cleared. */
  | 'ref-wrong'
  /** `stats()` reports other numbers than a count of the rows. Corrected. */
  | 'tallies-wrong'

export interface Problem {
  readonly kind: ProblemKind
  readonly message: string
  /** Keys that are affected, where there are any: the first twenty. */
  readonly keys: readonly Buffer[]
  /** Nothing of it is left. What lost data is never called repaired. */
  readonly repaired: boolean
}

export interface VerifyReport {
  readonly keys: number
  readonly contents: number
  readonly contentBytes: number
  /** Large values whose put has not ended, or never will. No problem: the collector takes them away. */
  readonly unfinishedUploads: number
  /** The first thousand. */
  readonly problems: readonly Problem[]
  readonly problemCount: number
  /** What could not be checked, and why. */
  readonly notes: readonly string[]
  /** There was no problem, or all of them were repaired. */
  readonly isSound: boolean
}

/** What of the store's options and settings a verification needs. */
export interface VerifyHow {
  readonly layout: Layout
  readonly profile: CanonicalProfile | undefined
  readonly sharesForms: boolean
  /** Only for puts: what a profile cannot read may have been put as bytes, whatever is asked for today. */
  readonly onUnreadable: 'error' | 'bytes'
  /** Where near duplicates are linked. */
  readonly near: StoreNear | undefined
  /** Where texts of like meaning are linked. */
  readonly semantic: StoreSemantic | undefined
  /** Which rows there are about the use of keys. */
  readonly tracking?: Tracking | undefined
  /** Where changes are recorded. */
  readonly changes?: ChangeFeed | undefined
  /** Near duplicates share the bytes of what they are like. */
  readonly sharesNear: boolean
}

const PROBLEMS_MAX = 1000

export class Findings {
  readonly problems: Problem[] = []
  readonly notes: string[] = []
  unfinishedUploads = 0
  problemCount = 0
  #isSound = true

  get isSound(): boolean {
    return this.#isSound
  }

  add(problem: Problem): void {
    this.problemCount++
    if (!problem.repaired) this.#isSound = false
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(problem)
  }

  note(text: string): void {
    this.notes.push(text)
  }
}
