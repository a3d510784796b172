import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { HOSTILE, HOSTILE_SOURCE, reading, run } from '../../test/report-kit.ts'
import { htmlReport, type Report, reportOf, type SamplePair, samplePairs } from './index.ts'
import { escaped, html } from './markup.ts'

let report: Report
let samples: SamplePair[]
let page: string

beforeAll(async () => {
  const ran = await run()
  report = await reportOf(ran.backend, ran.result.run)
  samples = await samplePairs(ran.backend, report, reading)
  page = htmlReport(report, samples)
})

describe('markup', () => {
  it('escapes all that is put in, however deep, and nothing of ours', () => {
    const inner = html`<b title="${'"\''}">${'<i>&'}</b>`
    expect(String(html`<p>${[inner, 7, undefined, false, [' x']]}</p>`)).toBe(
      '<p><b title="&quot;&#39;">&lt;i&gt;&amp;</b>7 x</p>',
    )
  })
})

describe('the page of a report', () => {
  it('lets no document become markup', () => {
    expect(page).toContain(escaped(HOSTILE))
    expect(page).toContain(escaped(HOSTILE_SOURCE))
    expect(page).not.toMatch(/<script|<img|<iframe|<link|<object/i)
    const tags = page.match(/<[a-z][^>]*>/gi) ?? []
    for (const tag of tags) expect(tag).not.toMatch(/\son\w+=|javascript:/i)
  })

  it('loads nothing, and forbids it', () => {
    expect(page).toContain('default-src &#39;none&#39;')
    expect(page).not.toMatch(/url\(|@import/)
    const tags = page.match(/<[a-z][^>]*>/gi) ?? []
    for (const tag of tags) expect(tag).not.toMatch(/\s(src|srcset|href|xlink:href)=/i)
  })

  it('gives every picture a name and every table heads', () => {
    const pictures = page.match(/<svg[^]*?<\/svg>/g) ?? []
    expect(pictures.length).toBe(4)
    const ids = pictures.flatMap((picture) => {
      expect(picture).toMatch(/role="img"/)
      return [...picture.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    })
    expect(new Set(ids).size).toBe(ids.length)
    for (const table of page.match(/<table[^]*?<\/table>/g) ?? []) {
      expect(table).toMatch(/<th scope="col"/)
    }
    const headings = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
    expect(headings.filter((level) => level === 1)).toHaveLength(1)
    headings.reduce((before, level) => {
      expect(level).toBeLessThanOrEqual(before + 1)
      return level
    }, 0)
  })

  it('lets texts of any script decide about their direction', () => {
    expect(page).toContain('<td dir="auto">')
    expect(page).toContain('<bdi>عربي</bdi>')
  })

  it('is the same for the same report, and needs no samples', () => {
    expect(htmlReport(report, samples)).toBe(page)
    expect(htmlReport(report)).not.toContain('side by side')
  })

  it('of an empty run is a page all the same', () => {
    const empty: Report = {
      ...report,
      sources: [],
      similarity: [],
      closestCalls: [],
      rejects: [],
      collisions: { sources: [], counts: [[0]], crossSource: 0 },
      survivals: { sources: [], counts: [[0]] },
      clusters: { count: 0, sizes: [], largest: [] },
    }
    expect(htmlReport(empty)).toContain('</html>')
    expect(htmlReport(empty)).not.toMatch(/NaN|Infinity|undefined/)
  })
})

const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find((name) => {
  try {
    return execFileSync(name, ['--version'], { stdio: 'pipe' }).length > 0
  } catch {
    return false
  }
})
if (!chromium)
  process.emitWarning('NOT TESTED: the page of a report in a browser; no chromium here.')

describe.runIf(chromium || process.env['CI'])('the page in a browser', () => {
  let place: string

  beforeAll(() => {
    place = mkdtempSync(join(tmpdir(), 'prestige-page-'))
  })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  async function browse(shown: string, ...args: readonly string[]) {
    const file = join(place, 'report.html')
    writeFileSync(file, shown)
    const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']
    const profile = `--user-data-dir=${join(place, 'profile')}`
    const child = spawn(
      chromium ?? 'chromium',
      [...flags, profile, '--enable-logging=stderr', ...args, pathToFileURL(file).href],
      { stdio: ['ignore', 'pipe', 'pipe'], timeout: 45_000 },
    )
    const [dom, log] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      child.exitCode ?? once(child, 'exit'),
    ])
    return { dom, errors: log.split('\n').filter((line) => line.includes('CONSOLE')) }
  }

  it('has its figures, and says nothing on the console', async () => {
    const { dom, errors } = await browse(page, '--dump-dom')
    expect(errors).toEqual([])
    expect(dom).toContain('58.3 % of all')
    expect(dom).toContain('Deduplication report')
    expect(dom.match(/<svg/g)).toHaveLength(4)
    expect(dom).toContain('مرحبا59 بالعالم')
    expect(dom).not.toMatch(/<script|<img/i)
  })

  it('would tell if a script ran: the policy stops it, and that is heard', async () => {
    const { errors } = await browse(page.replace('<h1>', `${HOSTILE}<h1>`), '--dump-dom')
    expect(errors.join()).toContain('Content Security Policy')
    expect(errors.join()).not.toMatch(/"owned"/)
    const open = '<!doctype html><script>console.error("heard")</script>'
    expect((await browse(open, '--dump-dom')).errors.join()).toContain('heard')
  })

  it('shrinks its charts to a narrow window, which nothing but tables scrolls', async () => {
    writeFileSync(join(place, 'inner.html'), page)
    const frame = `<!doctype html><iframe src="inner.html" style="width:400px;border:0"></iframe>
      <p id="found"></p><script>addEventListener('load', () => {
        const inner = document.querySelector('iframe').contentDocument
        const charts = [...inner.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect())
        const widest = Math.max(...charts.map(({ right }) => right))
        const { clientWidth, scrollWidth } = inner.documentElement
        const found = [charts.length, widest <= clientWidth, scrollWidth <= clientWidth]
        document.querySelector('#found').textContent = JSON.stringify(found)
      })</script>`
    const { dom } = await browse(frame, '--dump-dom', '--allow-file-access-from-files')
    expect(dom).toContain('[4,true,true]')
  })

  it.each([
    ['wide', '1200,2000'],
    ['narrow', '420,2000'],
  ])('can be drawn %s', async (name, size) => {
    const picture = join(place, `${name}.png`)
    const { errors } = await browse(page, `--screenshot=${picture}`, `--window-size=${size}`)
    expect(errors).toEqual([])
    expect(statSync(picture).size).toBeGreaterThan(20_000)
  })
})
