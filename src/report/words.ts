/** Words that the text and the page of a report share. */

import { nearThreshold, type RunStatus } from '../dedupe/index.ts'
import type { Report } from './report.ts'

/** `12.3 %`; nothing but all is 100 %, and nothing but nothing 0 %. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0005) return '< 0.1 %'
  if (share < 1 && share > 0.9995) return '> 99.9 %'
  return `${(share * 100).toFixed(1)} %`
}

const STATUS: Readonly<Record<RunStatus, string>> = {
  finished: '',
  undoing: 'This run is being taken back: its figures are of what is left of it.',
  undone: 'This run was taken back: what it decided is gone, and so are its figures.',
  superseded: 'A later run decided about the inputs of this one again: its figures are gone.',
  stopped: 'Stopped by a limit (--max-drop, --max-cluster, --keep). Nothing was published.',
  deciding: 'This run is not finished: the figures are of what it has decided so far.',
  publishing: 'This run is not finished: all is decided, and not all is published.',
}

/** What a reader must know of a run that is not finished; empty of one that is. */
export function statusSentence({ run }: Report): string {
  return STATUS[run.status]
}

/** What was decided by: the threshold, and all that is not as it is by default. */
export function settingsSentence({ config, settings }: Report): string {
  const changed = settings.map(({ name, value }) => `${name}: ${value}`).join('; ')
  if (changed === '') return `${thresholdText(config)}; all settings are the defaults.`
  return `${thresholdText(config)}. Settings that are not the defaults: ${changed}.`
}

export function thresholdText(config: Report['config']): string {
  return config.near.enabled
    ? `Near duplicates from a similarity of ${nearThreshold(config)}`
    : 'Near duplicates are not looked for'
}
