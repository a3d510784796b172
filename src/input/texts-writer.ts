/**
 * Writes documents as one file each, which holds the text and nothing else. Names are made of ids: two documents never
 * have the same one, also where case is ignored, and none leads out of its directory.
 */

import { createHash } from 'node:crypto'

import { join } from '../platform/paths.ts'
import { type ConvertedPart, type ConvertedRecord, recordsOf } from './convert.ts'
import { openOutput } from './output-file.ts'

/** Each file is synced by itself, and most of that time is waiting. */
const AT_ONCE = 16
/** File systems have 255; a file that is being written has a longer name. */
const NAME_BYTES_MAX = 200
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i

/** Returns names below the directory, in the order of the parts. `like`: a file whose permissions they get. */
export async function writeTexts(
  directory: string,
  parts: readonly ConvertedPart[],
  like: string,
  nameOf: (record: ConvertedRecord, part: ConvertedPart) => string,
): Promise<string[]> {
  const names: string[] = []
  let waiting: (() => Promise<void>)[] = []
  const writeWaiting = async () => {
    await Promise.all(waiting.map((write) => write()))
    waiting = []
  }
  for (const part of parts) {
    for await (const record of recordsOf(part)) {
      const name = nameOf(record, part)
      names.push(name)
      waiting.push(() => writeText(join(directory, name), record.text, like))
      if (waiting.length === AT_ONCE) await writeWaiting()
    }
  }
  await writeWaiting()
  return names
}

async function writeText(path: string, text: string, like: string): Promise<void> {
  const output = await openOutput(path, 'none', like)
  try {
    await output.write(text)
  } catch (error) {
    await output.abort()
    throw error
  }
  await output.close()
}

/** Names of the files of one directory. */
export class DocumentNames {
  readonly #taken = new Set<string>()

  /** Returns whether the name was free. */
  take(name: string): boolean {
    const folded = name.normalize('NFC').toLowerCase()
    if (this.#taken.has(folded)) return false
    this.#taken.add(folded)
    return true
  }

  /** `hasSources`: documents of one input may have the same id, of different sources. */
  of({ id, source }: Pick<ConvertedRecord, 'id' | 'source'>, hasSources: boolean): string {
    const own = hasSources ? `${encoded(source)}~` : ''
    const [, extension = '.txt'] = /[^.](\.[a-z0-9]{1,10})$/i.exec(id) ?? []
    const stem = own + encoded(id.endsWith(extension) ? id.slice(0, -extension.length) : id)
    const whole = safe(stem) + extension
    const isShort = Buffer.byteLength(whole) <= NAME_BYTES_MAX
    if (isShort && this.take(whole)) return whole
    return this.#other(safe(beginningOf(stem)), JSON.stringify([source, id]), extension)
  }

  /** One that a document had before. */
  again(name: string): string {
    if (this.take(name)) return name
    const [, stem = name, extension = ''] = /^(.*?)((?:\.[^.]*)?)$/s.exec(name) ?? []
    return this.#other(beginningOf(stem), name, extension)
  }

  #other(stem: string, document: string, extension: string): string {
    const digest = createHash('sha256').update(document).digest('hex')
    for (let length = 16; ; length++) {
      const name = `${stem}~${digest.slice(0, length)}${extension}`
      if (this.take(name)) return name
    }
  }
}

/** Without what leads elsewhere, is not allowed everywhere, or cannot be seen; `~` divides. */
function encoded(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}/\\:*?"<>|%~]/gu, percent)
}

/** As a whole: not hidden, not `..`, and not the name of a device. */
function safe(stem: string): string {
  const visible = stem.replace(/^[. ]|[. ]$/g, percent)
  return visible === '' || RESERVED.test(visible) ? `%${visible}` : visible
}

function percent(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')
}

function beginningOf(stem: string): string {
  let beginning = ''
  for (const character of stem) {
    if (Buffer.byteLength(beginning + character) > NAME_BYTES_MAX - 80) break
    beginning += character
  }
  return beginning
}
