/** Giving free space of the store's file back to the file system. */

import type { Backend } from '../backends/index.ts'

export type Compacted =
  | {
      readonly compacted: true
      readonly fileBytesBefore: number
      readonly fileBytes: number
    }
  | {
      readonly compacted: false
      /** Why there is nothing to compact. */
      readonly reason: string
    }

export async function compact({ file }: Backend): Promise<Compacted> {
  if (!file) {
    const reason = 'This engine has no file of its own: free space is its own business.'
    return { compacted: false, reason }
  }
  const fileBytesBefore = file.bytes()
  await file.compact()
  return { compacted: true, fileBytesBefore, fileBytes: file.bytes() }
}
