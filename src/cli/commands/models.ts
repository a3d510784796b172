/** `models`: which embedding models there are, and whether their files are intact. */

import { type ModelReport, modelReports } from '../../semantic/index.ts'
import type { Invocation } from '../call/invocation.ts'
import { paint, print, printJson } from '../print/output.ts'
import { table } from '../print/table.ts'

const NO_MODEL = 3

export async function run(invocation: Invocation): Promise<number> {
  const reports = await modelReports({ signal: invocation.signal })
  if (invocation.flag('json')) await printJson(reports)
  else if (!invocation.flag('quiet')) await print(textOf(reports))
  return reports.some(({ state }) => state === 'sound') ? 0 : NO_MODEL
}

const STATES = {
  sound: 'installed, intact',
  damaged: 'installed, DAMAGED (differs from the published file): install it again',
  missing: 'not installed',
} as const

function textOf(reports: readonly ModelReport[]): string {
  const rows = reports.map(({ model, package: name, precision, dimensions, tokensMax, state }) => [
    model,
    precision,
    `${dimensions} dimensions`,
    `${tokensMax} tokens a window`,
    name,
    paint(state === 'sound' ? 'green' : 'yellow', STATES[state]),
  ])
  const missing = reports.find(({ state }) => state === 'missing')
  const hint = reports.some(({ state }) => state === 'sound')
    ? ''
    : `\nnpm install ${missing?.package ?? ''} @huggingface/tokenizers onnxruntime-node, or onnxruntime-web\n`
  return `${table(
    rows,
    Array.from({ length: 6 }, () => 'left' as const),
  )}${hint}`
}
