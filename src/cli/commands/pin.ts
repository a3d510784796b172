import type { Invocation } from '../call/invocation.ts'
import { pinKeys } from '../call/pin-keys.ts'

export function run(invocation: Invocation): Promise<number> {
  return pinKeys(invocation, 'pinned', (store, key) => store.pin(key))
}
