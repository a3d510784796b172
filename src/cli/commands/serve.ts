/** `serve [LOCATION]`: the store over HTTP, until a signal ends it. */

import { readFile } from 'node:fs/promises'

import type { PrestigeServer, ServerOptions } from '../../server/index.ts'
import { usageFailure } from '../call/failure.ts'
import type { Invocation } from '../call/invocation.ts'
import { stateWithin } from '../call/location.ts'
import { sizeGiven } from '../call/size-given.ts'
import { choice, locationOf, storeInput } from '../call/with-store.ts'
import { print, printJson } from '../print/output.ts'

const PORT_MAX = 65_535
const LOCAL_NAMES = ['127.0.0.1', 'localhost', '[::1]']

export async function run(invocation: Invocation): Promise<number> {
  const named = invocation.operands[0] ?? locationOf(invocation)
  // The directory that dedupe wrote to: its runs are shown, and a store lies beside its state.
  const location = stateWithin(named)
  const jobs = invocation.text('jobs') ?? (location === named ? undefined : named)
  const port = invocation.wholeNumber('port') ?? 8080
  if (port > PORT_MAX)
    throw usageFailure(`--port ${port}: must be a whole number from 0 to ${PORT_MAX}.`)
  const { createServer, listen } = await import('../../server/index.ts')
  const server = createServer(location, await optionsOf(invocation, jobs))
  const host = invocation.text('host')
  const listening = await listen(server, { port, host, tls: await tlsOf(invocation) })
  if (invocation.flag('json'))
    await printJson({ url: listening.url, location, ...(jobs !== undefined && { jobs }) })
  else if (!invocation.flag('quiet')) await print(`${named} is served at ${listening.url}\n`)
  const reload = () => void reloadKeys(invocation, server)
  process.on('SIGHUP', reload)
  await ended(invocation.signal)
  await listening.close()
  process.removeListener('SIGHUP', reload)
  invocation.isComplete = true
  return 0
}

/** SIGHUP reads the file of keys again. One that cannot be used changes nothing. */
async function reloadKeys(invocation: Invocation, server: PrestigeServer): Promise<void> {
  try {
    const keys = await keysOf(invocation)
    if (keys) server.replaceKeys(keys)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`The keys stay as they are: ${message}\n`)
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function optionsOf(invocation: Invocation, jobs: string | undefined): Promise<ServerOptions> {
  const { namespace: _, ...store } = await storeInput(invocation)
  const upstream = invocation.text('proxy-upstream')
  const valueBytes = sizeGiven(invocation, 'body-max')
  return {
    store: { ...store, durability: choice(invocation, 'durability') },
    keys: await keysOf(invocation),
    origins: listOf(invocation, 'allow-origin'),
    hosts: hostsOf(invocation),
    limits: { valueBytes },
    roots: listOf(invocation, 'roots'),
    jobs,
    ...(upstream !== undefined && { proxy: { upstream } }),
    log: await logOf(invocation),
  }
}

async function keysOf(invocation: Invocation): Promise<ServerOptions['keys']> {
  const file = invocation.text('keys')
  if (file === undefined) return undefined
  const { readKeys } = await import('../../server/index.ts')
  const keys = await readKeys(file)
  if (keys.length > 0) return keys
  throw usageFailure(
    `--keys ${file}: it has no keys. Make one: prestige keys add NAME --keys ${file}`,
  )
}

/** Where anybody may call, a page that somebody visits must not reach the server by a name of its own. */
function hostsOf(invocation: Invocation): readonly string[] | undefined {
  const named = listOf(invocation, 'allow-host') ?? []
  const host = invocation.text('host')
  if (invocation.text('keys') !== undefined && named.length === 0) return undefined
  return [...LOCAL_NAMES, ...named, ...(host === undefined ? [] : [host])]
}

function listOf(
  invocation: Invocation,
  name: 'allow-origin' | 'allow-host' | 'roots',
): readonly string[] | undefined {
  return invocation
    .text(name)
    ?.split(',')
    .filter((one) => one !== '')
}

async function tlsOf(invocation: Invocation): Promise<{ cert: Buffer; key: Buffer } | undefined> {
  const cert = invocation.text('tls-cert')
  const key = invocation.text('tls-key')
  if (cert === undefined || key === undefined) return undefined
  return { cert: await readFile(cert), key: await readFile(key) }
}

async function logOf(invocation: Invocation): Promise<ServerOptions['log']> {
  const format = invocation.flag('quiet') ? 'none' : (invocation.text('log-format') ?? 'text')
  if (format === 'none') return undefined
  const { accessLog } = await import('../../server/index.ts')
  return accessLog(process.stderr, format === 'json' ? 'json' : 'text')
}
