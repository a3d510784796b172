/**
 * Writes files below a directory: each aside first, then moved into place, so that a file is either whole or
 * not there.
 *
 * Nothing is ever written through a symbolic link, which in a directory that was not empty could lead
 * anywhere. Not here: whether a name is a safe path (safe-path.ts).
 */

import { lstatSync, renameSync } from 'node:fs'
import { lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { removeAbandoned } from '../../platform/abandoned.ts'
import { makeDirectory } from '../../platform/atomic-file.ts'
import { fileFailure, kindOf, reasonOf, systemCode } from '../call/failure.ts'
import { notationOf } from '../print/key-notation.ts'

const SLASH = Buffer.from('/')

export class FileWriter {
  readonly #root: Buffer
  readonly #aside: string
  readonly #replaces: boolean
  #count = 0
  #lastDirectory: Buffer | undefined

  private constructor(root: string, aside: string, replaces: boolean) {
    this.#root = Buffer.from(root)
    this.#aside = aside
    this.#replaces = replaces
  }

  static async open(root: string, replaces: boolean): Promise<FileWriter> {
    try {
      await makeDirectory(root)
      await removeAbandoned(root, (name) => /^\.prestige-export-[A-Za-z0-9]{6}$/.test(name))
      return new FileWriter(root, await mkdtemp(join(root, '.prestige-export-')), replaces)
    } catch (error) {
      throw kindOf(error) ? error : fileFailure(root, error)
    }
  }

  /** Takes away what was left aside. */
  close(): Promise<void> {
    return rm(this.#aside, { recursive: true, force: true })
  }

  /** Directories are made one file after another; then any number of files may be written at once. */
  async makeRoom(name: Buffer): Promise<void> {
    const end = name.lastIndexOf(SLASH)
    if (end < 0) return
    const directory = name.subarray(0, end)
    if (this.#lastDirectory?.equals(directory)) return
    for (let at = name.indexOf(SLASH); at >= 0; at = name.indexOf(SLASH, at + 1)) {
      await this.#makeDirectory(name.subarray(0, at))
    }
    this.#lastDirectory = Buffer.from(directory)
  }

  async write(name: Buffer, value: Buffer | AsyncIterable<Uint8Array>): Promise<void> {
    const aside = join(this.#aside, String(this.#count++))
    await writeFile(aside, value, { flag: 'wx' })
    this.#move(aside, this.#below(name))
  }

  /** Looking and moving are one step: two names may be one file where case or Unicode form do not count. */
  #move(aside: string, target: Buffer): void {
    const isTaken = !this.#replaces && lstatSync(target, { throwIfNoEntry: false }) !== undefined
    if (isTaken) throw new Error('another file has this name already')
    renameSync(aside, target)
  }

  async #makeDirectory(name: Buffer): Promise<void> {
    const path = this.#below(name)
    try {
      await mkdir(path)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error
      if ((await lstat(path)).isDirectory()) return
      throw new Error(`${notationOf(name)} is in the way: ${reasonOf(error)}`, { cause: error })
    }
  }

  #below(name: Buffer): Buffer {
    return Buffer.concat([this.#root, SLASH, name])
  }
}
