/** The feed of changes, replayed: what its reader knows must be what the store has. */

import type { Store, StoreChange } from '../src/index.ts'

/** What a reader of the feed knows: key → digest. */
export type Replica = Map<string, string>

export function apply(replica: Replica, { kind, key, digest }: StoreChange): void {
  const name = key.toString('latin1')
  if (kind === 'put' || kind === 'link') replica.set(name, digest)
  else if (!replica.delete(name)) throw new Error(`${kind} of ${name}, which is not there`)
}

/** Reads on behind a cursor, and returns the cursor after the last change. */
export async function catchUp(
  store: Store,
  replica: Replica,
  after?: string,
): Promise<string | undefined> {
  let last = after
  for await (const change of store.changes({ after })) {
    apply(replica, change)
    last = change.cursor
  }
  return last
}

/** What the store has: key → digest. */
export async function contentsOf(store: Store): Promise<Replica> {
  const found: Replica = new Map()
  for await (const key of store.keys()) {
    const head = await store.head(key)
    if (head) found.set(key.toString('latin1'), head.digest)
  }
  return found
}

/** Throws where a reader that saw all changes knows something else than the store. */
export async function requireReplay(store: Store, replica: Replica): Promise<void> {
  const there = await contentsOf(store)
  for (const [key, digest] of there) {
    if (replica.get(key) !== digest) throw new Error(`the feed has another value of ${key}`)
  }
  if (replica.size !== there.size) {
    throw new Error(`the feed has ${replica.size} keys, and the store ${there.size}`)
  }
}
