/**
 * Runs one call of the command line: decides what to load, and turns the end of it into an exit code.
 *
 * Start-up time is its invariant: help loads no parser, a command loads only itself, and the store is
 * loaded inside the commands that open one. `process.exit` is never called: lmdb must finish first.
 */

import type { CommandName } from './declarations/index.ts'
import type { Invocation } from './call/invocation.ts'

interface CommandModule {
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>
}

const load: Record<CommandName, () => Promise<CommandModule>> = {
  put: () => import('./commands/put.ts'),
  get: () => import('./commands/get.ts'),
  del: () => import('./commands/del.ts'),
  clear: () => import('./commands/clear.ts'),
  has: () => import('./commands/has.ts'),
  keys: () => import('./commands/keys.ts'),
  count: () => import('./commands/count.ts'),
  changes: () => import('./commands/changes.ts'),
  stats: () => import('./commands/stats.ts'),
  health: () => import('./commands/health.ts'),
  explain: () => import('./commands/explain.ts'),
  similar: () => import('./commands/similar.ts'),
  collect: () => import('./commands/collect.ts'),
  prune: () => import('./commands/prune.ts'),
  evict: () => import('./commands/evict.ts'),
  pin: () => import('./commands/pin.ts'),
  unpin: () => import('./commands/unpin.ts'),
  compact: () => import('./commands/compact.ts'),
  import: () => import('./commands/import.ts'),
  export: () => import('./commands/export.ts'),
  list: () => import('./commands/list.ts'),
  verify: () => import('./commands/verify.ts'),
  backup: () => import('./commands/backup.ts'),
  backups: () => import('./commands/backups.ts'),
  restore: () => import('./commands/restore.ts'),
  'check-backup': () => import('./commands/check-backup.ts'),
  'forget-backups': () => import('./commands/forget-backups.ts'),
  label: () => import('./commands/label.ts'),
  tune: () => import('./commands/tune.ts'),
  models: () => import('./commands/models.ts'),
  reembed: () => import('./commands/reembed.ts'),
  resolve: () => import('./commands/resolve.ts'),
  members: () => import('./commands/members.ts'),
  dedupe: () => import('./commands/dedupe.ts'),
  fingerprint: () => import('./commands/fingerprint.ts'),
  undo: () => import('./commands/undo.ts'),
  report: () => import('./commands/report.ts'),
  why: () => import('./commands/why.ts'),
  show: () => import('./commands/show.ts'),
  uncut: () => import('./commands/uncut.ts'),
  clusters: () => import('./commands/clusters.ts'),
  pairs: () => import('./commands/pairs.ts'),
  runs: () => import('./commands/runs.ts'),
  config: () => import('./commands/config.ts'),
  ledger: () => import('./commands/ledger.ts'),
  serve: () => import('./commands/serve.ts'),
  mcp: () => import('./commands/mcp.ts'),
  dynamodb: () => import('./commands/dynamodb.ts'),
}

const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143 } as const

async function dispatch(args: readonly string[]): Promise<number> {
  const beforeTerminator = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
  const asksHelp = beforeTerminator.some((arg) => arg === '--help' || arg === '-h')
  if (asksHelp || args.length === 0 || args[0] === 'help') {
    const { help } = await import('./call/help.ts')
    return help(beforeTerminator)
  }
  const isVersion = args.length === 1 && (args[0] === '-v' || args[0] === 'version')
  if (isVersion || beforeTerminator.includes('--version')) {
    const { printVersion } = await import('./call/version.ts')
    return printVersion()
  }
  const { readInvocation } = await import('./call/arguments.ts')
  return untilStopped(async (signal, stoppedCode) => {
    const invocation = readInvocation(args, signal)
    const command = await load[invocation.command]()
    const code = await command.run(invocation)
    return invocation.isComplete ? code : (stoppedCode() ?? code)
  })
}

/** The first signal asks the command to end its work properly; a second one ends the process at once. */
async function untilStopped(
  work: (signal: AbortSignal, stoppedCode: () => number | undefined) => Promise<number>,
): Promise<number> {
  const stop = new AbortController()
  let stopped: number | undefined
  const listeners: (() => void)[] = []
  for (const [name, code] of Object.entries(SIGNAL_CODES)) {
    const onSignal = () => {
      stopped = code
      stop.abort()
    }
    process.once(name, onSignal)
    listeners.push(() => process.removeListener(name, onSignal))
  }
  try {
    return await work(stop.signal, () => stopped)
  } catch (error) {
    const { reason } = stop.signal
    const isAborted = error === reason || (error instanceof Error && error.cause === reason)
    if (stopped === undefined || !isAborted) throw error
    return stopped
  } finally {
    for (const remove of listeners) remove()
  }
}

/** Resolves with the exit code; failures have been printed. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args)
  } catch (error) {
    const { reportFailure } = await import('./call/failure.ts')
    return reportFailure(error, args.includes('--json'))
  }
}
