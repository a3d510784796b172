/** Links, their reverse rows, orphan notes and tallies change together. */

import { describe, expect, it } from 'vitest'

import { type Backend, cell, read, type Scope } from '../backends/contract.ts'
import { MemoryBackend } from '../backends/memory/backend.ts'
import { SimulatedWorld } from '../backends/simulated/backend.ts'
import { type Link, LinkGraph, linkSpaces } from './link-graph.ts'

interface NamedLink extends Link {
  readonly name: string
}

const spaces = linkSpaces<NamedLink>('test', {
  bytes: 1,
  flagsOf: () => 0,
  encode: ({ name }) => Buffer.from(name),
  decode: (fields, to) => ({ name: fields.toString(), to }),
})
const idOf = (number: number) => Buffer.alloc(16, number)
const digestOf = (number: number) => Buffer.alloc(32, number)
const content = (number: number) => ({ id: idOf(number), digest: digestOf(number) })

function linkTo(number: number): NamedLink {
  const firstKey = Buffer.from('first')
  return { name: 'l', to: { ...content(number), similarity: 0.9, storedAt: 5, firstKey } }
}

const REPRESENTATIVE: NamedLink = { name: 'r', to: undefined }

function openGraph(backend: Backend) {
  // A body may be run more than once.
  const removed = new Set<number | undefined>()
  const graph = new LinkGraph(spaces, {
    countsRepresentatives: true,
    isRepresentative: ({ to }) => to === undefined,
    // oxlint-disable-next-line require-yield -- a body that reads nothing is one too
    *removeFromIndex(_scope, id) {
      removed.add(id[0])
    },
  })
  const add = (number: number, link: NamedLink) =>
    backend.run(function* (scope: Scope) {
      graph.add(scope, content(number), link)
    })
  const leave = (number: number) => backend.run((scope) => graph.leave(scope, idOf(number)))
  const unlink = (gone: number, number: number) =>
    backend.run((scope) => graph.unlink(scope, idOf(gone), idOf(number)))
  const counts = () => backend.read(() => graph.readCounts())
  const note = (number: number) =>
    backend.read(function* () {
      return (yield* read(cell(spaces.orphaned, idOf(number))))[0]
    })
  const orphans = async () => {
    const found = []
    for await (const { gone, id, digest } of graph.orphans(backend)) {
      expect(digest).toEqual(Buffer.alloc(32, id[0]))
      found.push([gone[0], id[0]])
    }
    return found
  }
  return { graph, removed, add, leave, unlink, counts, note, orphans }
}

const engines: Record<string, () => Backend> = {
  memory: () => new MemoryBackend(),
  simulated: () => new SimulatedWorld(1).open('worker'),
}

describe.each(Object.keys(engines))('a graph of links on %s', (engine) => {
  it('lists what is linked to a representative that is gone, until it has been handled', async () => {
    const backend = engines[engine]!()
    const { removed, add, leave, unlink, counts, note, orphans } = openGraph(backend)
    await add(1, REPRESENTATIVE)
    await add(2, linkTo(1))
    await add(3, linkTo(1))
    await add(4, REPRESENTATIVE)
    expect(await counts()).toEqual({ links: 2, representatives: 2 })
    expect(await leave(1)).toEqual(REPRESENTATIVE)
    expect([...removed]).toEqual([1])
    expect(await counts()).toEqual({ links: 2, representatives: 1 })
    expect(await unlink(1, 2)).toBe(true)
    expect(await unlink(1, 2)).toBe(false)
    expect(await counts()).toEqual({ links: 1, representatives: 1 })
    expect(await orphans()).toEqual([[1, 3]])
    expect(await note(1)).toBeUndefined()
    expect(await orphans()).toEqual([])
  })

  it('keeps the note of what is gone if those linked to it were not all handled', async () => {
    const backend = engines[engine]!()
    const { graph, add, leave, note, orphans } = openGraph(backend)
    await add(1, REPRESENTATIVE)
    await add(2, linkTo(1))
    await leave(1)
    for await (const _orphan of graph.orphans(backend)) break
    expect(await note(1)).toBeDefined()
    expect(await orphans()).toEqual([[1, 2]])
    expect(await note(1)).toBeUndefined()
  })

  it('forgets a linked content with its reverse row, and leaves its representative alone', async () => {
    const backend = engines[engine]!()
    const { removed, add, leave, counts, orphans } = openGraph(backend)
    await add(1, REPRESENTATIVE)
    await add(2, linkTo(1))
    await add(3, linkTo(1))
    expect(await leave(2)).toMatchObject(linkTo(1))
    expect(await leave(2)).toBeUndefined()
    expect(removed.size).toBe(0)
    expect(await counts()).toEqual({ links: 1, representatives: 1 })
    await leave(1)
    expect(await orphans()).toEqual([[1, 3]])
  })

  it('unlinks nothing from a representative that it is not linked to', async () => {
    const backend = engines[engine]!()
    const { add, unlink, counts } = openGraph(backend)
    await add(1, REPRESENTATIVE)
    await add(2, linkTo(1))
    expect(await unlink(3, 2)).toBe(false)
    expect(await unlink(2, 1)).toBe(false)
    expect(await counts()).toEqual({ links: 1, representatives: 1 })
  })
})

describe('a row of links', () => {
  const codec = spaces.links.codec

  it('is read as it was written', () => {
    for (const link of [REPRESENTATIVE, linkTo(7)]) {
      expect(codec.decode(codec.encode(link, idOf(1)), idOf(1))).toEqual(link)
    }
  })

  it('is refused by name where it is cut off, or of another format', () => {
    for (const row of [Buffer.of(0x10), Buffer.of(0x11, 1, 2), Buffer.of(0x40, 1)]) {
      expect(() => codec.decode(row, idOf(1))).toThrow(
        / of test\.links (cannot be read|is damaged)/,
      )
    }
  })
})
