/**
 * A server of the Model Context Protocol: the tools by which a model reads a store, compares texts and, where it is allowed
 * to write, puts values and resolves texts. Failures are results with a code and a message, never ends of the connection.
 *
 * Invariant: without `write`, nothing is changed. Tools that change something are not offered, and `resolve` only looks up.
 */

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js'
import { toJsonSchema } from '@valibot/to-json-schema'
import * as v from 'valibot'

import { compareTexts } from '../compare/index.ts'
import { PrestigeError } from '../platform/errors.ts'
import { sentProblems } from '../platform/options.ts'
import type { Resolver } from '../resolve/index.ts'
import type { Store } from '../store/index.ts'

export interface McpOptions {
  readonly version: string
  /** Offer tools that change something. */
  readonly write: boolean
  /** Opened with the first call that needs it. */
  readonly store: () => Promise<Store>
  /** Opened with the first call that needs it. */
  readonly resolver: () => Promise<Resolver>
  /** Why a corpus run kept, dropped or linked the documents with this id. */
  readonly documents: (id: string) => Promise<readonly object[]>
}

interface Tool {
  readonly name: string
  readonly description: string
  readonly isWriting?: true
  readonly input: v.GenericSchema
  run(input: unknown): Promise<unknown>
}

/** A reply goes into the context of a model: what is longer is cut, and says so. */
const REPLY_BYTES_MAX = 262_144

const text = (help: string) => v.pipe(v.string(), v.description(help))
const key = text('The key.')
const group = v.optional(text('Texts of different groups are never the same.'), 'default')
const limit = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(1),
  v.maxValue(100),
  v.description('At most so many results.'),
)
const threshold = v.pipe(
  v.number(),
  v.gtValue(0),
  v.maxValue(1),
  v.description('Minimum similarity, above 0 to 1.'),
)

function tool<const S extends v.GenericSchema>(
  declared: Omit<Tool, 'input' | 'run'>,
  input: S,
  run: (input: v.InferOutput<S>) => Promise<unknown>,
): Tool {
  return {
    ...declared,
    input,
    async run(given) {
      const read = v.safeParse(input, given)
      if (read.success) return run(read.output)
      const message = sentProblems(input, read.issues, 'The arguments')
      throw new PrestigeError('INVALID_OPTIONS', message)
    },
  }
}

function toolsOf(options: McpOptions): readonly Tool[] {
  const all = [...storeTools(options), whyTool(options), ...textTools(options)]
  return options.write ? all : all.filter(({ isWriting }) => !isWriting)
}

function storeTools({ store }: McpOptions): readonly Tool[] {
  return [
    tool(
      {
        name: 'put',
        description:
          'Keep a text under a key. Says whether the text was seen before, and of what it is a copy.',
        isWriting: true,
      },
      v.strictObject({ key, value: text('The text.') }),
      async (input) => (await store()).put(input.key, input.value),
    ),
    tool(
      { name: 'get', description: 'The value kept under a key.' },
      v.strictObject({ key }),
      async (input) => valueOf(await store(), input.key),
    ),
    tool(
      {
        name: 'similar',
        description: 'What in the store is like a text, the most similar first. Nothing is kept.',
      },
      v.strictObject({
        text: text('The text.'),
        limit: v.optional(limit),
        threshold: v.optional(threshold),
      }),
      async ({ text: value, ...options }) => (await store()).similar(value, options),
    ),
  ]
}

/** About a key of the store, a document of a corpus run, or a text that need not be kept anywhere. */
function whyTool(options: McpOptions): Tool {
  return tool(
    {
      name: 'why',
      description:
        'Why something is new, a duplicate or linked: of what, by which method, and what spoke against others. Give one of key, document and text.',
    },
    v.strictObject({
      key: v.optional(text('A key of the store.')),
      document: v.optional(text('The id of a document that a corpus run read.')),
      text: v.optional(
        text('A text: what in the store it is a duplicate of; with a group, of which id it is.'),
      ),
      group: v.optional(text('With text: ask the resolver about this group.')),
    }),
    async ({ key: ofKey, document, text: own, group: ofGroup }) => {
      const given = [ofKey, document, own].filter((one) => one !== undefined)
      if (given.length !== 1 || (ofGroup !== undefined && own === undefined)) {
        const message = 'Give one of key, document and text; a group goes with a text.'
        throw new PrestigeError('INVALID_OPTIONS', message)
      }
      if (ofKey !== undefined) return found(await (await options.store()).explain(ofKey), ofKey)
      if (document !== undefined) return options.documents(document)
      if (ofGroup !== undefined) return whyResolved(await options.resolver(), ofGroup, own ?? '')
      return { nearest: await (await options.store()).similar(own ?? '', NEAREST) }
    },
  )
}

/** What guards keep apart is named, with the reasons. */
const NEAREST = { limit: 5, vetoed: true }

async function whyResolved(resolver: Resolver, ofGroup: string, own: string): Promise<object> {
  const resolution = await resolver.lookup(ofGroup, own)
  if (!resolution) return { status: 'unknown' }
  const representative = await resolver.representative(ofGroup, resolution.id)
  const kept = representative?.text
  return {
    ...resolution,
    ...(representative && { representative }),
    ...(kept !== undefined && { explanation: await resolver.explain(ofGroup, own, kept) }),
  }
}

function textTools({ write, resolver }: McpOptions): readonly Tool[] {
  return [
    tool(
      {
        name: 'resolve',
        description: write
          ? 'The stable id of what a text is about. Near duplicates get one id; what is new gets its own.'
          : 'The stable id of what a text is about, if it or something like it is known. Nothing is kept.',
      },
      v.strictObject({ text: text('The text.'), group }),
      async (input) =>
        write
          ? (await resolver()).resolve(input.group, input.text)
          : ((await (await resolver()).lookup(input.group, input.text)) ?? { status: 'unknown' }),
    ),
    tool(
      {
        name: 'compare',
        description:
          'How similar two texts are, whether they are duplicates, and what speaks against it.',
      },
      v.strictObject({
        a: text('One text.'),
        b: text('The other text.'),
        threshold: v.optional(threshold),
      }),
      async ({ a, b, ...options }) => {
        const compared = compareTexts(a, b, options)
        const { similarity, containment, isDuplicate, vetoes } = compared
        return { similarity, threshold: compared.threshold, isDuplicate, vetoes, containment }
      },
    ),
  ]
}

function found<T>(value: T | undefined, ofKey: string): T {
  if (value !== undefined) return value
  throw new PrestigeError('KEY_NOT_FOUND', `There is no key "${ofKey}".`)
}

async function valueOf(store: Store, ofKey: string): Promise<object> {
  const { bytes, digest } = found(await store.head(ofKey), ofKey)
  const stream = found(await store.getStream(ofKey, { end: REPLY_BYTES_MAX }), ofKey)
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  const value = Buffer.concat(chunks)
  const shown = textIn(value, bytes > REPLY_BYTES_MAX)
  return {
    ...(shown === undefined ? { base64: value.toString('base64') } : { value: shown }),
    bytes,
    digest,
    ...(bytes > REPLY_BYTES_MAX && { isCut: true }),
  }
}

/** A text that was cut may end within a character. */
function textIn(value: Buffer, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value, {
      stream: isCut,
    })
  } catch {
    return undefined
  }
}

export interface McpServer {
  /** Resolves when every request that was read has its answer. */
  answered(): Promise<void>
  close(): Promise<void>
}

/** Serves the tools over a connection. */
export async function serveMcp(options: McpOptions, over?: Transport): Promise<McpServer> {
  const sdk = await loadSdk()
  const { name, instructions } = {
    name: 'prestige',
    instructions: options.write
      ? 'A store that keeps one copy of everything and says what it has seen before.'
      : 'A store that keeps one copy of everything and says what it has seen before. It can only be read here.',
  }
  const tools = toolsOf(options)
  const server = new sdk.Server(
    { name, version: options.version },
    { capabilities: { tools: {} }, instructions },
  )
  server.setRequestHandler(sdk.ListToolsRequestSchema, async () => ({ tools: tools.map(listed) }))
  server.setRequestHandler(sdk.CallToolRequestSchema, async ({ params }) => {
    const called = tools.find((one) => one.name === params.name)
    if (!called) return failure('INVALID_USAGE', unknownTool(params.name, options.write))
    return called.run(params.arguments ?? {}).then(reply, refusal)
  })
  const transport: Transport = over ?? new sdk.StdioServerTransport()
  const unanswered = new Unanswered(transport)
  await server.connect(transport)
  return { answered: () => unanswered.none(), close: () => server.close() }
}

/** Requests that were read and have no answer yet, also those whose tool has not begun. */
class Unanswered {
  readonly #ids = new Set<RequestId>()
  #waiting: (() => void)[] = []

  /** Before the server is connected, which goes on to call what it finds here. */
  constructor(transport: Transport) {
    Object.assign(transport, { onmessage: (message: JSONRPCMessage) => this.#note(message) })
    const send = transport.send.bind(transport)
    transport.send = async (message, options) => {
      try {
        await send(message, options)
      } finally {
        if (!('method' in message) && message.id !== undefined) this.#end(message.id)
      }
    }
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#ids.add(message.id)
    // The protocol has no answer to a request that was cancelled.
    else if (message.method === 'notifications/cancelled')
      this.#end(Object(message.params)['requestId'])
  }

  #end(id: RequestId): void {
    this.#ids.delete(id)
    if (this.#ids.size > 0) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  none(): Promise<void> {
    if (this.#ids.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

function listed({ name, description, input, isWriting }: Tool) {
  const { properties = {}, required = [] } = toJsonSchema(input, { typeMode: 'input' })
  return {
    name,
    description,
    inputSchema: {
      type: 'object' as const,
      properties: Object.fromEntries(
        Object.entries(properties).map(([member, schema]) => [member, Object(schema)]),
      ),
      required,
      additionalProperties: false,
    },
    annotations: { readOnlyHint: !isWriting, openWorldHint: false },
  }
}

function unknownTool(name: string, write: boolean): string {
  const hint = name === 'put' && !write ? ' Start the server with --write to allow it.' : ''
  return `There is no tool "${name}" here.${hint}`
}

function reply(result: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(result) }] }
}

function refusal(error: unknown) {
  if (error instanceof PrestigeError) return failure(error.code, error.message)
  return failure('UNEXPECTED', error instanceof Error ? error.message : String(error))
}

function failure(code: string, message: string) {
  return {
    isError: true,
    content: [{ type: 'text' as const, text: JSON.stringify({ code, message }) }],
  }
}

/** An optional peer, loaded with the first server. */
async function loadSdk() {
  try {
    const [server, types, stdio] = await Promise.all([
      import('@modelcontextprotocol/sdk/server/index.js'),
      import('@modelcontextprotocol/sdk/types.js'),
      import('@modelcontextprotocol/sdk/server/stdio.js'),
    ])
    const { ListToolsRequestSchema, CallToolRequestSchema } = types
    const { StdioServerTransport } = stdio
    return {
      Server: server.Server,
      ListToolsRequestSchema,
      CallToolRequestSchema,
      StdioServerTransport,
    }
  } catch (error) {
    throw new PrestigeError(
      'PACKAGE_MISSING',
      'prestige mcp needs a package that is not installed: npm install @modelcontextprotocol/sdk',
      { cause: error },
    )
  }
}
