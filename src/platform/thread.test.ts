import { afterEach, describe, expect, it } from 'vitest'

import { startThread, Thread } from './thread.ts'

const thread = new Thread<string, string>('A test thread', () =>
  startThread(import.meta.url, '../../test/children/thread'),
)
afterEach(() => thread.close())

describe('a thread', () => {
  it('answers requests, each with its own answer', async () => {
    expect(thread.isRunning).toBe(false)
    expect(await Promise.all(['a', 'b', 'c'].map((one) => thread.ask(one)))).toEqual([
      'a!',
      'b!',
      'c!',
    ])
    expect(thread.busy).toBe(0)
  })

  it('fails with the code that the failure had, or with WORKER_FAILED, and goes on', async () => {
    await expect(thread.ask('fail')).rejects.toMatchObject({
      name: 'PrestigeError',
      code: 'INPUT_CHANGED',
      message: 'a.jsonl has grown.',
    })
    await expect(thread.ask('break')).rejects.toMatchObject({
      code: 'WORKER_FAILED',
      message: 'A test thread failed: a mistake',
    })
    expect(await thread.ask('a')).toBe('a!')
  })

  it('fails what it was busy with if it dies or is closed, and starts again when it is asked', async () => {
    const failed = { code: 'WORKER_FAILED', message: 'A test thread stopped.' }
    await expect(thread.ask('die')).rejects.toMatchObject(failed)
    expect(thread.isRunning).toBe(false)
    expect(await thread.ask('a')).toBe('a!')
    const asked = expect(thread.ask('b')).rejects.toMatchObject(failed)
    await thread.close()
    await asked
    expect(await thread.ask('c')).toBe('c!')
  })

  it('fails what cannot be sent, and is not busy with it', async () => {
    // safe: the test sends what the types forbid
    const request = (() => undefined) as unknown as string
    await expect(thread.ask(request)).rejects.toThrow(/could not be cloned/)
    expect(thread.busy).toBe(0)
  })
})
