/**
 * Documents that were sent as the body of a request, as files below the directory for outputs. A file is named by its
 * content: whoever sends the same again goes on with the same file, and with the run that was cut off.
 *
 * It is an input of its run like any other, so it stays while the run does: texts are read from it, and an undo may have
 * to write documents of it again. It goes when no run and no job has it.
 */

import { createHash, randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'

import { removeAbandoned } from '../../platform/abandoned.ts'
import { outputFailure, syncDirectory } from '../../platform/atomic-file.ts'
import { codeOf, PrestigeError } from '../../platform/errors.ts'
import { exists } from '../../platform/files.ts'
import { HttpProblem } from '../http/problem.ts'

const NAME = /^[0-9a-f]{32}$/
const FILE = /^([0-9a-f]{32})\.jsonl$/
const PART = /^part-[0-9a-f]{16}$/

export class Uploads {
  readonly #directory: string
  readonly #bytesMax: number
  /** Jobs that have an upload. */
  readonly #held = new Map<string, number>()

  /** `bytesMax`: of all together. */
  constructor(directory: string, bytesMax: number) {
    this.#directory = resolve(directory)
    this.#bytesMax = bytesMax
  }

  fileOf(name: string): string {
    return join(this.#directory, `${name}.jsonl`)
  }

  /** The name of the upload that a file is; `undefined` of any other file. */
  nameOf(file: string): string | undefined {
    return file === join(this.#directory, basename(file))
      ? FILE.exec(basename(file))?.[1]
      : undefined
  }

  /** Held until `release`. */
  async hold(name: string): Promise<void> {
    this.#hold(name)
    if (NAME.test(name) && (await exists(this.fileOf(name)))) return
    this.#release(name)
    throw new PrestigeError(
      'FILE_NOT_FOUND',
      `There is no upload ${name.slice(0, 64)}. Send the documents again.`,
    )
  }

  /** Keeps a body, and holds it. */
  async receive(body: AsyncIterable<Uint8Array>): Promise<string> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    const part = join(this.#directory, `part-${randomBytes(8).toString('hex')}`)
    try {
      const name = await this.#spool(body, part)
      this.#hold(name)
      // Not renamed: a file that is there keeps its time, by which its run knows it.
      await link(part, this.fileOf(name)).catch((error: unknown) => {
        if (codeOf(error) === 'EEXIST') return
        this.#release(name)
        throw error
      })
      await syncDirectory(this.#directory)
      return name
    } catch (error) {
      if (error instanceof PrestigeError || !codeOf(error).startsWith('E')) throw error
      throw outputFailure('uploads', error)
    } finally {
      await rm(part, { force: true })
    }
  }

  async #spool(body: AsyncIterable<Uint8Array>, part: string): Promise<string> {
    let left = this.#bytesMax - (await this.#bytes())
    const hash = createHash('sha256')
    const file = await open(part, 'wx', 0o600)
    let length = 0
    try {
      for await (const piece of body) {
        left -= piece.byteLength
        if (left < 0) throw full(this.#bytesMax)
        length += piece.byteLength
        hash.update(piece)
        await file.writeFile(piece)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    if (length === 0) throw new HttpProblem('INVALID_REQUEST', 'The body has no documents.')
    return hash.digest('hex').slice(0, 32)
  }

  async #bytes(): Promise<number> {
    let bytes = 0
    for (const name of await readdir(this.#directory)) {
      bytes += (await stat(join(this.#directory, name)).catch(() => undefined))?.size ?? 0
    }
    return bytes
  }

  #hold(name: string): void {
    this.#held.set(name, (this.#held.get(name) ?? 0) + 1)
  }

  #release(name: string): void {
    const left = (this.#held.get(name) ?? 1) - 1
    if (left > 0) this.#held.set(name, left)
    else this.#held.delete(name)
  }

  /** It is removed, unless another job holds it or `isInput` says that a run has it. */
  async release(name: string, isInput: (file: string) => Promise<boolean>): Promise<void> {
    this.#release(name)
    await this.removeUnused(name, isInput)
  }

  async removeUnused(name: string, isInput: (file: string) => Promise<boolean>): Promise<void> {
    if (this.#held.has(name) || (await isInput(this.fileOf(name)))) return
    if (!this.#held.has(name)) await rm(this.fileOf(name), { force: true })
  }

  /** What a process that was killed has left, a day after. */
  async removeLeft(inputs: ReadonlySet<string>): Promise<void> {
    const isLeft = (name: string) => {
      const [, upload] = FILE.exec(name) ?? []
      if (upload === undefined) return PART.test(name)
      return !inputs.has(this.fileOf(upload)) && !this.#held.has(upload)
    }
    await removeAbandoned(this.#directory, isLeft)
  }
}

function full(bytesMax: number): PrestigeError {
  return new PrestigeError(
    'BACKEND_FULL',
    `Uploads may have ${bytesMax} bytes together. Undo runs that are no longer needed, which removes theirs.`,
  )
}
