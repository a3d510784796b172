/** Backups on the command line, and on S3. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { openStore } from '../src/index.ts'
import { checkBackup, listBackups, restoreBackup } from '../src/exports/backup.ts'
import { inProcess as prestige } from './children/cli.ts'
import { S3Server } from './servers/s3.ts'

let directory = ''
let server: S3Server

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'prestige-cli-backup-'))
  server = await S3Server.start('bucket')
  process.env['AWS_ENDPOINT_URL_S3'] = server.endpoint
})
afterAll(async () => {
  await server.stop()
  rmSync(directory, { recursive: true })
})

describe('on the command line', () => {
  it('a store is backed up, listed, checked, restored, and old backups are forgotten', async () => {
    const [store, target, copy] = ['store', 'target', 'copy'].map((name) => join(directory, name))
    const of = (place?: string) => ({ store: place! })
    await prestige(['put', 'a', 'one', '--canonical', 'unicode'], of(store))
    await prestige(['put', 'b', 'two'], of(store))
    const first = await prestige(['backup', target!], of(store))
    expect(first.code, first.err).toBe(0)
    expect(first.text).toMatch(/^backup \d{8}T\d{9}Z-[0-9a-f]{8}: 2 keys, 6 B; /)
    await prestige(['put', 'c', 'three'], of(store))
    const second = await prestige(['backup', target!, '--json'], of(store))
    expect(second.json).toMatchObject({ keys: 3, isOneMoment: true })
    const listed = await prestige(['backups', target!])
    expect(listed.text.trim().split('\n')).toHaveLength(2)
    expect(listed.text).toContain(second.json.id)
    const checked = await prestige(['check-backup', target!, '--read-data'])
    expect([checked.code, checked.text]).toEqual([
      0,
      expect.stringContaining('sound: 2 backups, 5 keys'),
    ])
    const restored = await prestige(['restore', target!], of(copy))
    expect(restored.text, restored.err).toContain('restored 3 keys of backup')
    expect((await prestige(['get', 'c'], of(copy))).text).toBe('three')
    const again = await prestige(['restore', target!], of(store))
    expect([again.code, again.text]).toEqual([0, expect.stringContaining('restored 3 keys')])
    await prestige(['put', 'd', 'four'], of(copy))
    const refused = await prestige(['restore', target!], of(copy))
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('--overwrite')])
    const forgotten = await prestige(['forget-backups', target!, '--keep-last', '1'])
    expect(forgotten.text).toContain('removed 1 backup')
    const [pack] = readdirSync(join(target!, 'packs'))
    rmSync(join(target!, 'packs', pack!))
    const damaged = await prestige(['check-backup', target!])
    expect([damaged.code, damaged.text]).toEqual([4, expect.stringContaining('damaged')])
    const none = await prestige(['backups', join(directory, 'none')])
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('prestige backup')])
    expect((await prestige(['forget-backups', target!])).code).toBe(2)
  })
})

describe('on S3', () => {
  it('a backup is written, listed, checked, restored and forgotten like a local one', async () => {
    const target = 's3://bucket/backups/store'
    await using store = await openStore('memory:')
    for (let at = 0; at < 50; at++) await store.put(`key ${at}`, `value ${at}`.repeat(1000))
    const { id } = await store.backup(target)
    await store.put('key 0', 'another value')
    const before = server.requests.length
    await store.backup(target)
    expect(server.requests.length - before).toBeLessThan(15)
    expect(await listBackups(target)).toHaveLength(2)
    expect(await checkBackup(target, { readData: true })).toMatchObject({
      isSound: true,
      keys: 100,
    })
    const location = join(directory, 'from-s3')
    await restoreBackup(target, location, { backup: id, durability: 'os' })
    await using copy = await openStore(location, { durability: 'os' })
    expect(await copy.getText('key 0')).toBe('value 0'.repeat(1000))
    expect((await copy.stats()).keys).toBe(50)
  })

  it('a backup whose upload is refused is not there, and fails by name', async () => {
    const target = 's3://bucket/refused'
    await using store = await openStore('memory:')
    await store.put('a', 'one')
    server.fault = ({ method, url }) =>
      method === 'PUT' && url.includes('/packs/') ? 'deny' : undefined
    await expect(store.backup(target)).rejects.toMatchObject({ code: 'ACCESS_DENIED' })
    server.fault = () => undefined
    expect(await listBackups(target)).toEqual([])
    await store.backup(target)
    expect(await listBackups(target)).toHaveLength(1)
  })
})
