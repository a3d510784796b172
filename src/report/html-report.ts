/**
 * A report as one file to send to a colleague: no scripts, nothing loaded from anywhere, light and dark, printable.
 *
 * Invariant: everything from documents is escaped, and a policy within the page forbids scripts all the same.
 */

import { count, countOf, duration, size } from '../platform/units.ts'
import { pairMarkup } from './diff-markup.ts'
import { clustersSection, closestSection, passagesSection } from './html-clusters.ts'
import { cells, key, nameMarkup, section, table } from './html-parts.ts'
import { runsSection, when } from './html-runs.ts'
import { html, type Markup } from './markup.ts'
import { PAGE_STYLE } from './page-style.ts'
import {
  columnsPlot,
  describedSources,
  heatMap,
  namesOf,
  rowsPlot,
  similarityBars,
  sizeBars,
  sourceBars,
} from './plots.ts'
import { nearThreshold } from '../dedupe/index.ts'
import { corpusText } from './corpus-name.ts'
import { ALL_RUNS, type Report } from './report.ts'
import type { SamplePair, Samples } from './sample-pairs.ts'
import { percent, statusSentence, thresholdText } from './words.ts'

const POLICY = "default-src 'none'; style-src 'unsafe-inline'"

/** `beginnings`: how texts of clusters begin, as `samplesOf` has them. */
export function htmlReport(
  report: Report,
  samples: readonly SamplePair[] = [],
  beginnings?: Samples['beginnings'],
): string {
  const { run } = report
  const body = [
    heading(report),
    outcomes(report),
    runsSection(report),
    sources(report),
    collisions(report),
    likeness(report),
    sizes(report),
    clustersSection(report, beginnings),
    closestSection(report),
    passagesSection(report),
    pairs(samples),
    rejects(report),
    settings(report),
  ]
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="prestige">
<title>Deduplication report: ${corpusText(report.inputs) || run.id}</title>
<style>`
  // The style sheet is ours, and an escaped one would be none.
  return `${page}${PAGE_STYLE}</style>\n</head>\n<body>\n${html`${body}`}</body>\n</html>\n`
}

function heading(report: Report): Markup {
  const { run, documents, bytes, duplicationRate, collisions, clusters, throughput } = report
  const speed = throughput
    ? `${countOf(Math.round(throughput.documentsPerSecond), 'document')}/s, ${throughput.megabytesPerSecond.toFixed(1)} MB/s`
    : ''
  const figure = (name: string, value: string, note: string) =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value}<small>${note}</small></dd>
    </div> `
  const status = statusSentence(report)
  const kept = documents.kept + documents.linked
  const linked = documents.linked > 0 ? `, ${count(documents.linked)} of them linked` : ''
  const which =
    run.id === ALL_RUNS
      ? html`All ${countOf(report.runs.filter((one) => one.status !== 'undone').length, 'run')}, the
        first`
      : html`Run <code>${run.id}</code>,`
  return html`<header>
      <h1>Deduplication report</h1>
      <p class="corpus">
        <strong>Corpus: ${nameMarkup(corpusText(report.inputs) || 'a stream of documents')}</strong
        ><br />${settingsLine(report)}
      </p>
      <p class="soft">
        ${which} begun
        <time datetime="${run.startedAt}">${when(run.startedAt)}</time>${
          throughput ? `, ${duration(throughput.seconds * 1000)}` : ''
        }${speed && ` (${speed})`};
        ${countOf(report.inputs.files, 'input file')}, ${size(report.inputs.bytes)}
      </p>
      ${status && html`<p class="banner">${status}</p>`}
      <dl class="figures">
        ${figure('Documents in', count(documents.in), size(bytes.in))}
        ${figure('Kept', count(kept), `${size(bytes.kept)}${linked}`)}
        ${figure('Dropped', count(documents.dropped), `${percent(duplicationRate)} of all`)}
        ${figure('Saved', size(bytes.saved), bytes.in > 0 ? `${percent(bytes.saved / bytes.in)} of the bytes` : '')}
        ${figure('Clusters', count(clusters.count), 'of two or more')}
        ${figure('Across sources', count(collisions.crossSource), 'duplicates of another source')}
      </dl>
    </header>
    <main> `
}

/** What was decided by: the threshold, and all that is not as it is by default. */
function settingsLine({ config, settings: changed }: Report): Markup {
  const threshold = thresholdText(config)
  if (changed.length === 0) return html`${threshold}; all settings are the defaults.`
  const items = changed.map(
    ({ name, value }, at) => html`${at > 0 && ', '}<code>${name}: ${nameMarkup(value)}</code>`,
  )
  return html`${threshold}. Settings that are not the defaults: ${items}.`
}

function outcomes({ documents, methods, duplicationRate }: Report): Markup {
  const line = (name: string, amount: number, note: string) =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="number">${count(amount)}</td>
      <td>${note}</td>
    </tr> `
  const ways = methods.filter(({ dropped, linked }) => dropped + linked > 0)
  const found = table(
    'How duplicates were found',
    ['Method', '#Dropped', '#Linked', 'What it means'],
    ways.map(({ method, dropped, linked }) => cells([method, dropped, linked, MEANING[method]])),
  )
  return section('Results', [
    html`<div class="scroll">
      <table>
        <caption>
          Every document is kept or dropped
        </caption>
        <thead>
          <tr>
            <th scope="col">Outcome</th>
            <th scope="col" class="number">Documents</th>
            <th scope="col">What it means</th>
          </tr>
        </thead>
        <tbody>
          ${line('Kept', documents.kept + documents.linked, 'in the output')}
          ${documents.linked > 0 && line('… linked', documents.linked, 'of the kept: similar to another document')}
          ${documents.superseding > 0 && line('… superseding', documents.superseding, 'of the kept: replaced a worse copy')}
          ${documents.possibleMisses > 0 && line('… possible misses', documents.possibleMisses, 'of the kept: full buckets were skipped, so a duplicate may remain')}
          ${documents.cut > 0 && line('… cut', documents.cut, 'of the linked: written without passages that other documents have')}
          ${line('Dropped', documents.dropped, `left out: ${percent(duplicationRate)} of all`)}
          ${documents.repeated > 0 && line('… repeated', documents.repeated, 'of the dropped: same id and text again')}
          ${documents.superseded > 0 && line('… superseded', documents.superseded, 'of the dropped: replaced by a better copy later')}
          ${documents.supersededEarlier > 0 && line('Superseded before', documents.supersededEarlier, 'kept by earlier runs, and no longer in kept/: superseded.jsonl lists them')}
          ${line('Rejected', documents.rejected, 'input that is not a document; not counted above')}
        </tbody>
      </table>
    </div> `,
    ways.length > 0 ? found : undefined,
  ])
}

const MEANING = {
  exact: 'the same text',
  canonical: 'the same in canonical form',
  simhash: 'SimHashes that differ in few bits',
  near: 'most shingles in common',
  containment: 'one contained in the other',
  chunk: 'passages in common',
  semantic: 'the same meaning',
} as const

function sources(report: Report): Markup {
  const bars = sourceBars(report)
  const { sources: named, otherSources } = report
  const others = otherSources.documents > 0 ? [{ source: 'all others', ...otherSources }] : []
  return section('Sources', [
    key([
      ['kept', 'kept'],
      ['linked', 'kept and linked'],
      ['dropped', 'dropped'],
    ]),
    html`<figure>
      ${rowsPlot(bars, {
        title: 'Kept and dropped by source',
        summary: describedSources(report),
      })}
    </figure>`,
    table(
      'Documents and bytes by source',
      [
        'Source',
        '#Documents',
        '#Kept',
        '#… linked',
        '#Dropped',
        '#Dropped, %',
        '#Bytes in',
        '#Saved',
      ],
      [...named, ...others].map((line) =>
        cells([
          line.source,
          line.documents,
          line.kept + line.linked,
          line.linked,
          line.dropped,
          { number: percent(line.documents === 0 ? 0 : line.dropped / line.documents) },
          { number: size(line.bytes) },
          { number: size(line.bytesDropped) },
        ]),
      ),
    ),
  ])
}

function collisions(report: Report): Markup {
  const { collisions: met, survivals, dominance } = report
  if (met.sources.length === 0) return html``
  const text =
    met.crossSource === 0
      ? 'No document is a duplicate of one of another source.'
      : `${countOf(met.crossSource, 'document')} had a duplicate in another source before.`
  return section('Duplicates between sources', [
    html`<p>
        ${text} Rows are the sources of later documents, columns the sources of the earlier
        documents they duplicate.
      </p>
      <figure>
        ${heatMap(met, {
          title: 'Duplicates by source',
          summary: `Duplicates of earlier documents, by ${countOf(met.sources.length, 'source')}.`,
          rows: 'later',
          columns: 'earlier',
        })}
      </figure> `,
    matrixTable(met, 'As a table: rows are later documents, columns earlier ones'),
    dominance.length === 0
      ? undefined
      : table(
          'Which source is kept against others',
          ['Source', '#Kept', '#Dropped', '#Kept, %', '#Within itself'],
          dominance.map(({ source, won, lost, within }) =>
            cells([source, won, lost, { number: percent(won / (won + lost)) }, within]),
          ),
        ),
    matrixTable(survivals, 'As a table: rows were dropped, columns kept instead'),
  ])
}

function matrixTable(matrix: Report['survivals'], caption: string): Markup {
  const names = namesOf(matrix)
  const rows = names.map((name, row) =>
    cells([name, ...names.map((_, column) => matrix.counts[row]?.[column] ?? 0)]),
  )
  return html`<details>
    <summary>${caption}</summary>
    ${table(caption, ['Source', ...names.map((name) => `#${name}`)], rows)}
  </details> `
}

function likeness(report: Report): Markup {
  if (report.similarity.length === 0) return html``
  const bars = similarityBars(report)
  const hasSimhash = report.similarity.some(({ simhash }) => simhash > 0)
  return section('How similar the duplicates are', [
    html`<p>
      Near duplicates by their similarity to the document they were measured against. Many just
      above the threshold (${nearThreshold(report.config)}) mean that it decides much: look at the
      closest calls below.
    </p>`,
    hasSimhash
      ? key([
          ['near', 'near: share of shingles in common'],
          ['simhash', 'simhash: share of bits in common'],
        ])
      : undefined,
    html`<figure>
      ${columnsPlot(bars, {
        title: 'Similarity of duplicates',
        summary: bars
          .map(
            ({ label, parts }) => `${label}: ${parts.reduce((sum, part) => sum + part.count, 0)}`,
          )
          .join(', '),
        axis: 'similarity, from',
      })}
    </figure>`,
  ])
}

function sizes(report: Report): Markup {
  if (report.clusters.count === 0) return html``
  const bars = sizeBars(report)
  return section('How large the clusters are', [
    html`<figure>
      ${columnsPlot(bars, {
        title: 'Clusters by size',
        summary: bars
          .map(
            ({ label, parts }) => `${label} documents: ${countOf(parts[0]?.count ?? 0, 'cluster')}`,
          )
          .join('; '),
        axis: 'documents in a cluster',
      })}
    </figure>`,
  ])
}

function pairs(samples: readonly SamplePair[]): Markup {
  if (samples.length === 0) return html``
  return section('Sample duplicates, side by side', [
    html`<p>
      A is the document that was decided about, B the one it was measured against.
      <del>Marked so</del> is only in A, <ins>marked so</ins> only in B; long stretches that are the
      same are left out.
    </p> `,
    ...samples.map((pair, at) => pairMarkup(pair, at + 1)),
  ])
}

function rejects({ rejects: lines }: Report): Markup {
  if (lines.length === 0) return html``
  return section('What was no document', [
    table(
      'Pieces of input that were rejected, by reason; rejects.jsonl has each',
      ['Reason', '#Count'],
      lines.map(({ reason, count: amount }) => cells([reason, amount])),
    ),
  ])
}

function settings({ config, versions, inputs, format }: Report): Markup {
  const made = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const skipped =
    inputs.skipped > 0 ? `; ${countOf(inputs.skipped, 'file')} done by earlier runs` : ''
  return html`${section('Settings', [
    html`<p class="soft">
        Input: ${inputs.formats.join(', ')}${skipped}. Made with ${made.join(', ')}; report format
        ${format}.
      </p>
      <details>
        <summary>Config of the run</summary>
        <pre>${JSON.stringify(config, undefined, 2)}</pre>
      </details> `,
  ])}</main>
`
}
