/** Damages the files of a store as a failing disk would. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Changes one byte, `at` bytes behind the beginning of every place that holds these bytes. */
export async function flipByte(directory: string, bytes: string | Buffer, at = 0): Promise<void> {
  const path = join(directory, 'data.mdb')
  const file = await readFile(path)
  let place = file.indexOf(bytes)
  if (place === -1) throw new Error(`The test expects these bytes in ${path}.`)
  for (; place !== -1; place = file.indexOf(bytes, place + 1)) {
    file.writeUInt8(file.readUInt8(place + at) ^ 0x01, place + at)
  }
  await writeFile(path, file)
}
