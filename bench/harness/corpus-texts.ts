/**
 * A corpus of real text, made of what a Debian machine has: documentation (also packed), manual pages, licences,
 * headers, sources in Python, Perl and JavaScript, pages in HTML without their marks.
 *
 * The order is that of the hash of the paths, so any beginning of it is a fair sample of the whole, and the same
 * machine gives the same corpus.
 */

import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'

const ROOTS = [
  '/usr/share/doc',
  '/usr/share/man',
  '/usr/share/perl',
  '/usr/share/common-licenses',
  '/usr/share',
  '/usr/include',
  '/usr/lib',
  fileURLToPath(new URL('../../node_modules', import.meta.url)),
]
const FILE_BYTES_MIN = 200
const FILE_BYTES_MAX = 2 * 1024 * 1024
const MARKS = /<(script|style)\b[^]*?<\/\1\s*>|<[^<>]*>/gi

export interface Corpus {
  readonly files: readonly string[]
  readonly documents: number
  /** Of texts. */
  readonly bytes: number
}

/** Writes texts of up to `bytesMax` bytes to files of about equal size below `directory`. */
export function writeCorpus(directory: string, bytesMax: number, parts: number): Corpus {
  mkdirSync(directory, { recursive: true })
  const files = Array.from({ length: parts }, (_, at) => join(directory, `part-${at}.jsonl`))
  let documents = 0
  let bytes = 0
  let file = -1
  let descriptor = 0
  for (const path of shuffled(ROOTS.flatMap((root) => Array.from(textFiles(root))))) {
    if (bytes >= bytesMax) break
    const text = textOf(path)
    if (text === undefined) continue
    const wanted = Math.floor((bytes / bytesMax) * parts)
    if (wanted > file) {
      if (file >= 0) closeSync(descriptor)
      file = wanted
      descriptor = openSync(files[file] ?? '', 'w')
    }
    const source = path.split('/')[3] ?? 'other'
    writeSync(descriptor, `${JSON.stringify({ id: path, source, text })}\n`)
    documents++
    bytes += Buffer.byteLength(text)
  }
  closeSync(descriptor)
  return { files: files.slice(0, file + 1), documents, bytes }
}

/** The documents of a corpus, cut on line borders into documents of about so many bytes; shorter rests are left out. */
export function cutCorpus(files: readonly string[], directory: string, bytes: number): string[] {
  mkdirSync(directory, { recursive: true })
  return files.map((file) => {
    const cut: string[] = []
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      if (line === '') continue
      const { id, source, text } = JSON.parse(line) as Record<string, string> // safe: writeCorpus wrote it
      piecesOf(text ?? '', bytes).forEach((piece, at) =>
        cut.push(JSON.stringify({ id: `${id}#${at}`, source, text: piece })),
      )
    }
    const path = join(directory, basename(file))
    writeFileSync(path, `${cut.join('\n')}\n`)
    return path
  })
}

function piecesOf(text: string, bytes: number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length;) {
    const line = text.indexOf('\n', at + bytes)
    const end = line === -1 || line > at + bytes * 1.125 ? at + bytes : line + 1
    const piece = text.slice(at, end)
    if (piece.trim().length >= bytes / 2) pieces.push(piece.toWellFormed())
    at = end
  }
  return pieces
}

function* textFiles(root: string): Generator<string> {
  let entries
  try {
    entries = readdirSync(root, { withFileTypes: true })
  } catch {
    return
  }
  for (const entry of entries) {
    const path = join(root, entry.name)
    if (entry.isDirectory()) yield* textFiles(path)
    else if (entry.isFile()) yield path
  }
}

function shuffled(paths: readonly string[]): string[] {
  const keyed = [...new Set(paths)].map((path) => ({ path, key: hash('sha1', path, 'hex') }))
  return keyed.toSorted((one, other) => (one.key < other.key ? -1 : 1)).map(({ path }) => path)
}

/** `undefined` for what is no text, or not of a length that documents have. */
function textOf(path: string): string | undefined {
  const { size } = statSync(path)
  if (size < FILE_BYTES_MIN || size > FILE_BYTES_MAX) return undefined
  let bytes = readFileSync(path)
  try {
    if (path.endsWith('.gz')) bytes = gunzipSync(bytes, { maxOutputLength: 4 * FILE_BYTES_MAX })
  } catch {
    return undefined
  }
  if (bytes.includes(0) || !isUtf8(bytes)) return undefined
  const text = bytes.toString()
  return /\.html?$/.test(path) ? text.replaceAll(MARKS, ' ') : text
}
