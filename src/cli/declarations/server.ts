/** Commands about the HTTP service, and their options. Only data. */

import type { Command, OptionForm } from './index.ts'
import { QUIET, WRITES_STORE } from './shared.ts'

export const serverOptionForms = {
  port: { type: 'string', short: 'p', value: 'N' },
  host: { type: 'string', value: 'ADDRESS' },
  keys: { type: 'string', value: 'FILE' },
  'allow-origin': { type: 'string', value: 'ORIGIN,…' },
  'allow-host': { type: 'string', value: 'NAME,…' },
  'tls-cert': { type: 'string', value: 'FILE' },
  'tls-key': { type: 'string', value: 'FILE' },
  'body-max': { type: 'string', value: 'SIZE' },
  'log-format': { type: 'string', value: 'NAME', choices: ['text', 'json', 'none'] },
  roots: { type: 'string', value: 'DIR,…' },
  jobs: { type: 'string', value: 'DIR' },
  'proxy-upstream': { type: 'string', value: 'URL' },
  scope: { type: 'string', value: 'NAME', choices: ['read', 'write', 'admin'] },
  namespaces: { type: 'string', value: 'NAME,…' },
  'requests-per-second': { type: 'string', value: 'N' },
  'bytes-per-second': { type: 'string', value: 'SIZE' },
  write: { type: 'boolean' },
} as const satisfies Readonly<Record<string, OptionForm>>

export const serverCommands = {
  serve: {
    operands: '[LOCATION]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'Serve a store over HTTP, with a web console.',
    details: [
      'Without LOCATION, --store or PRESTIGE_STORE names it. The address is 127.0.0.1 unless --host says',
      'otherwise; an address that other machines can reach needs --keys. SIGTERM ends it properly: what',
      'was accepted is finished; a run goes on when it is asked for again. SIGHUP reads the file of keys',
      'again. GET /openapi.json describes every path. LOCATION may be the directory of dedupe -o DIR: its',
      'runs are shown, as with --jobs DIR.',
    ],
    shared: WRITES_STORE,
    options: {
      port: 'Port to listen on (8080); 0: any that is free.',
      host: 'Address to listen on (127.0.0.1).',
      keys: 'File of keys that callers need: see prestige keys.',
      'allow-origin': 'Origins whose pages may call from a browser.',
      'allow-host': 'Host names by which it may be called, beside its address.',
      'tls-cert': 'Certificate as PEM; with --tls-key.',
      'tls-key': 'Key of the certificate as PEM; with --tls-cert.',
      'body-max': 'Longest value, such as 10MiB (1GiB).',
      roots: 'Directories below which runs may read inputs.',
      jobs: 'Directory for outputs of runs, as of dedupe -o DIR.',
      'proxy-upstream': 'Everything below /proxy/ goes there, and is cached.',
      'log-format': 'One line for each request: text (default), json, none.',
      quiet: QUIET,
    },
    only: [
      { of: ['tls-cert'], with: 'tls-key' },
      { of: ['tls-key'], with: 'tls-cert' },
    ],
    examples: [
      'prestige serve ./store',
      'prestige serve redis://127.0.0.1:6379 --port 9000 --keys keys.json',
      'prestige serve ./store --host 0.0.0.0 --keys keys.json --tls-cert cert.pem --tls-key key.pem',
    ],
  },
  mcp: {
    operands: '[LOCATION]',
    operandsMin: 0,
    operandsMax: 1,
    summary: 'Serve a store to models, over the Model Context Protocol.',
    details: [
      'Speaks over standard input and output; a client starts it. Tools: get, similar, why, resolve and',
      'compare, which only read; with --write put as well, and resolve keeps what is new. Without LOCATION,',
      '--store or PRESTIGE_STORE names it. Needs @modelcontextprotocol/sdk.',
    ],
    shared: WRITES_STORE,
    options: {
      write: 'Allow tools that change the store.',
    },
    examples: ['prestige mcp ./store', 'prestige mcp ./store --write'],
  },
} as const satisfies Readonly<Record<string, Command>>
