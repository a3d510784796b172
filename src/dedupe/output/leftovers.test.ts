import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, it } from 'vitest'

import { removeLeftovers } from './leftovers.ts'

let out = ''
beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'prestige-leftovers-'))
})
afterEach(() => rmSync(out, { recursive: true }))

it('takes away what a killed run had begun to write, and nothing else', async () => {
  mkdirSync(join(out, 'kept/sub'), { recursive: true })
  mkdirSync(join(out, 'runs/run'), { recursive: true })
  const ours = [
    'manifest.json.tmp-123',
    'runs/run/outputs.jsonl.tmp-123',
    'kept/a.jsonl.tmp-0123456789ab',
    'kept/sub/b.txt.tmp-abcdefabcdef',
  ]
  const others = ['notes.tmp-123', 'kept/a.jsonl', 'kept/c.txt.tmp-0123456789ab', 'manifest.json']
  for (const name of [...ours, ...others]) writeFileSync(join(out, name), 'x')
  const shard = {
    index: 0,
    file: '',
    path: 'a.jsonl',
    fileBytes: 1,
    modifiedMs: 1,
    format: 'jsonl',
    compression: 'none',
    start: 0,
    end: 1,
    bytes: 1,
  } as const
  const small = {
    ...shard,
    path: 'sub/b.txt',
    format: 'files',
    files: [{ ...shard, path: 'sub/b.txt' }],
  } as const
  await removeLeftovers(out, [shard, small], 'run')
  const left = readdirSync(out, { recursive: true, encoding: 'utf8' })
  expect(left.toSorted()).toEqual(['kept', 'kept/sub', 'runs', 'runs/run', ...others].toSorted())
})
