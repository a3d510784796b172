/**
 * A file of text that is written aside as `name.tmp-…` while it grows, and moved into place when it is whole and on
 * the disk. A failure is reported by name, and leaves nothing behind.
 */

import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

import { outputFailure } from '../../input/index.ts'

const BUFFER_CHARACTERS = 1 << 16

export class WholeFile {
  readonly #path: string
  readonly #aside: string
  readonly #file: FileHandle
  #text = ''

  private constructor(path: string, aside: string, file: FileHandle) {
    this.#path = path
    this.#aside = aside
    this.#file = file
  }

  static async open(path: string): Promise<WholeFile> {
    const aside = `${path}.tmp-${randomBytes(6).toString('hex')}`
    try {
      await mkdir(dirname(path), { recursive: true })
      return new WholeFile(path, aside, await open(aside, 'w'))
    } catch (error) {
      throw outputFailure(path, error)
    }
  }

  /** `undefined` if nothing has to be awaited. */
  write(text: string): Promise<void> | undefined {
    this.#text += text
    return this.#text.length < BUFFER_CHARACTERS ? undefined : this.#flush()
  }

  /** Everything is on the disk, under its name. */
  async close(): Promise<void> {
    try {
      await this.#flush()
      await this.#file.sync()
      await this.#file.close()
      await rename(this.#aside, this.#path)
    } catch (error) {
      await this.abort()
      throw outputFailure(this.#path, error)
    }
  }

  /** Leaves nothing behind. May be called after a failure, and twice. */
  async abort(): Promise<void> {
    await this.#file.close().catch(() => undefined) // closed already is what is wanted
    await rm(this.#aside, { force: true })
  }

  async #flush(): Promise<void> {
    const text = this.#text
    this.#text = ''
    try {
      await this.#file.writeFile(text)
    } catch (error) {
      await this.abort()
      throw outputFailure(this.#path, error)
    }
  }
}
