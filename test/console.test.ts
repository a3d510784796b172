/** Every page of the console in a browser, on a real server: by keyboard, narrow and wide, light and dark. */

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { makeKey } from '../src/server/index.ts'
import type { Listening } from '../src/server/index.ts'
import { fill, type Place, serve } from './console-kit.ts'
import { jsonl, textMaker } from './corpus-kit.ts'

const executablePath = ['chromium', 'chromium-browser', 'google-chrome'].flatMap((name) => {
  try {
    return [execFileSync('which', [name], { encoding: 'utf8' }).trim()]
  } catch {
    return []
  }
})[0]
if (!executablePath) process.emitWarning('NOT TESTED: the console in a browser; no chromium here.')

const WIDE = { viewport: { width: 1280, height: 860 } }
const NARROW = { viewport: { width: 400, height: 800 }, hasTouch: true }
/** Documents of a run that lasts until it is stopped. */
const LONG_RUN = 50_000
/** For what another process does. */
const PATIENT = { timeout: 15_000 }
const PAGES = ['Overview', 'Browse', 'Compare', 'Runs', 'Tune', 'Ledger']

describe.runIf(executablePath || process.env['CI'])('the console in a browser', () => {
  let directory: string
  let place: Place
  let browser: Browser
  let listening: Listening
  /** For people to look at: kept where PRESTIGE_SCREENSHOTS says. */
  let pictures: string

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'prestige-console-'))
    pictures = process.env['PRESTIGE_SCREENSHOTS'] ?? join(directory, 'pictures')
    mkdirSync(pictures, { recursive: true })
    place = await fill(directory)
    listening = await serve(place)
    browser = await chromium.launch({
      executablePath: executablePath ?? 'chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    })
  })
  afterAll(async () => {
    await browser?.close()
    await listening?.close()
    rmSync(directory, { recursive: true, force: true })
  })

  /** What the browser complains of, violations of the policy among them, fails the test. */
  async function visit(
    options: BrowserContextOptions,
    use: (page: Page) => Promise<void>,
    url = listening.url,
  ): Promise<void> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
    const page = await context.newPage()
    page.setDefaultTimeout(15_000)
    const complaints: string[] = []
    page.on('console', (message) => {
      // 401 is how a server asks for a key, 403 what a reader gets for figures of the whole location: a browser says so.
      if (['error', 'warning'].includes(message.type()) && !/\b40[13] \(/.test(message.text()))
        complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    try {
      await page.goto(url)
      await use(page)
      expect(complaints).toEqual([])
    } finally {
      await context.close()
    }
  }

  const open = async (page: Page, path: string, heading: string) => {
    await page.goto(`${listening.url}/#/${path}`)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
  }

  async function picture(page: Page, name: string): Promise<void> {
    const loading = () => page.locator('.loading').count()
    await expect.poll(loading, { message: `${name}: everything is loaded` }).toBe(0)
    expect(await page.locator('.problem').allInnerTexts(), `${name}: problems`).toEqual([])
    const [scroll, width] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )
    expect(scroll, `${name}: nothing is wider than the screen`).toBeLessThanOrEqual(width)
    await page.screenshot({ path: join(pictures, `${name}.png`) })
  }

  async function tour(page: Page, suffix: string): Promise<void> {
    await page.getByText('faults').or(page.getByText(place.store)).first().waitFor()
    // Rates need two samples.
    await page.getByRole('cell', { name: 'GET kv/_count' }).waitFor()
    await picture(page, `overview-${suffix}`)
    await open(page, `browse/${encodeURIComponent('mail/boiler/2')}`, 'Browse')
    await page.getByText('Why it is here').waitFor()
    await page.locator('.outcome').waitFor()
    await picture(page, `browse-${suffix}`)
    await open(page, `browse/${encodeURIComponent('images/logo.png')}`, 'Browse')
    await page.getByAltText('The value as an image').waitFor()
    const width = () => page.evaluate('document.querySelector(".picture img").naturalWidth')
    await expect.poll(width).toBe(96)
    await picture(page, `image-${suffix}`)
    await open(page, 'compare', 'Compare')
    await page.getByRole('button', { name: 'Use an example' }).click()
    await page.locator('ins').first().waitFor()
    await picture(page, `compare-${suffix}`)
    await open(page, 'runs', 'Runs')
    await page.getByRole('link', { name: 'march-2' }).waitFor()
    await picture(page, `runs-${suffix}`)
    await open(page, 'runs/march-2', 'march-2')
    await page.locator('.cluster summary').first().click()
    await picture(page, `run-${suffix}`)
    await open(page, `runs/why/${encodeURIComponent('mail/boiler/2')}`, 'mail/boiler/2')
    await page.locator('.sides').first().waitFor()
    await picture(page, `why-${suffix}`)
    await open(page, 'ledger', 'Ledger')
    await page.getByRole('cell', { name: 'accepted' }).first().waitFor()
    await picture(page, `ledger-${suffix}`)
    await open(page, 'tune', 'Tune')
    for (const key of ['d', 'n', 'd', 'd', 'n', 'n']) {
      await page.locator('.pair').waitFor()
      await page.keyboard.press(key)
    }
    await page.getByRole('img', { name: 'Precision and recall by threshold' }).waitFor()
    await picture(page, `tune-${suffix}`)
  }

  const looks = [
    ['light', 'wide', WIDE],
    ['dark', 'wide', WIDE],
    ['light', 'narrow', NARROW],
    ['dark', 'narrow', NARROW],
  ] as const
  it.each(looks)(
    'shows every page, %s and %s, and the browser complains of nothing',
    (colorScheme, width, screen) =>
      visit({ ...screen, colorScheme }, async (page) => {
        const scheme = await page.evaluate('getComputedStyle(document.documentElement).colorScheme')
        expect(scheme).toBe(colorScheme)
        await tour(page, `${colorScheme}-${width}`)
      }),
  )

  it('can be used by the keyboard alone', () =>
    visit(WIDE, async (page) => {
      for (const [at, title] of PAGES.entries()) {
        await page.keyboard.press(String(at + 1))
        await page.getByRole('heading', { level: 1, name: title }).waitFor()
      }
      await page.keyboard.press('1')
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      const focused = () => page.evaluate('document.activeElement.textContent.trim()')
      expect(await focused()).toBe('Overview')
      await page.goto(`${listening.url}/console#/browse`)
      await page.getByRole('link', { name: 'mail/boiler/2' }).waitFor()
      await page.keyboard.press('/')
      expect(await page.evaluate('document.activeElement.type')).toBe('search')
      await page.keyboard.type('report/crane')
      await page.getByRole('list', { name: 'Keys' }).getByRole('listitem').nth(0).waitFor()
      await expect
        .poll(() => page.getByRole('list', { name: 'Keys' }).getByRole('listitem').count())
        .toBe(1)
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 2, name: 'report/crane/1' }).waitFor()
      await page.keyboard.press('?')
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
      await page.keyboard.press('Escape')
      await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
      const theme = () => page.evaluate('document.documentElement.dataset.theme')
      await page.keyboard.press('t')
      await expect.poll(theme).toBe('dark')
      await page.keyboard.press('t')
      await expect.poll(theme).toBe('light')
    }))

  it('starts a run, follows it to its end, and stops another, by the keyboard', async () => {
    const long = join(directory, 'in', 'long.jsonl')
    const make = textMaker(17)
    const documents = Array.from({ length: LONG_RUN }, (_, at) => ({ id: `${at}`, text: make(40) }))
    writeFileSync(long, jsonl(documents))
    const other = { store: place.store, jobs: join(directory, 'other-runs') }
    const running = await serve(other, { roots: [join(directory, 'in')] })
    try {
      await visit(
        WIDE,
        async (page) => {
          const statuses = () => page.locator('[aria-label="Runs"] .status').allInnerTexts()
          await page.keyboard.press('4')
          await page.getByText('No runs yet').waitFor()
          await startRun(page, join(directory, 'in', '0.jsonl'))
          await page.getByRole('heading', { name: 'Run under way' }).waitFor()
          await expect.poll(statuses, PATIENT).toEqual(['finished'])
          await page.locator('.job').waitFor({ state: 'detached' })
          await startRun(page, long)
          await page.locator('.job a').waitFor()
          await tabTo(page, '.job button')
          await page.keyboard.press('Enter')
          await page.locator('.job').waitFor({ state: 'detached' })
          await expect.poll(statuses, PATIENT).toEqual(['stopped', 'finished'])
        },
        running.url,
      )
    } finally {
      await running.close()
    }
  })

  it('lets a reader skip the navigation', () =>
    visit(WIDE, async (page) => {
      await page.getByRole('link', { name: 'Skip to content' }).focus()
      await page.keyboard.press('Enter')
      expect(await page.evaluate('document.activeElement.id')).toBe('main')
    }))

  it('shows keys and values that are markup or bytes as what they are', () =>
    visit(WIDE, async (page) => {
      await open(page, `browse/${encodeURIComponent('<b>&"\'')}`, 'Browse')
      await page.getByText('<script>console.error("owned")</script>').waitFor()
      await open(page, 'browse/%ff%00%10', 'Browse')
      await page.getByRole('heading', { level: 2, name: '0xff0010' }).waitFor()
      await page.getByText('00000000  00 01 02 03').waitFor()
    }))

  it('asks for a key where the server does, keeps it in the tab alone, and forgets it', async () => {
    const { key, secret } = makeKey({ name: 'reader', scope: 'read' }, Date.now())
    const guarded = await serve(place, { keys: [key] })
    try {
      await visit(
        WIDE,
        async (page) => {
          await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
          await page.getByLabel('API key').fill('wrong')
          await page.keyboard.press('Enter')
          await page.getByText('The server does not know this key.').waitFor()
          await page.screenshot({ path: join(pictures, 'sign-in.png') })
          await page.getByLabel('API key').fill(secret)
          await page.keyboard.press('Enter')
          await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
          const kept = await page.evaluate<[string, string]>(
            '[JSON.stringify(sessionStorage), JSON.stringify(localStorage) + document.cookie + location.href]',
          )
          expect(kept[0]).toContain(secret)
          expect(kept[1]).not.toContain(secret)
          await page.getByRole('button', { name: 'Sign out' }).click()
          await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
          expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(secret)
        },
        guarded.url,
      )
    } finally {
      await guarded.close()
    }
  })

  it('takes a run back once that is confirmed, and not before', () =>
    visit(WIDE, async (page) => {
      await open(page, 'runs/march-2', 'march-2')
      await page.getByRole('button', { name: 'Undo…' }).click()
      await page.getByRole('dialog').getByText('march-2:').waitFor()
      await page.getByRole('button', { name: 'Close' }).click()
      await open(page, 'runs', 'Runs')
      expect(await page.locator('.status.is-undone').count()).toBe(0)
      await open(page, 'runs/march-2', 'march-2')
      await page.getByRole('button', { name: 'Undo…' }).click()
      await page.getByRole('button', { name: 'Undo the run' }).click()
      await page.locator('.status.is-undone').waitFor()
    }))
})

/** By as many tabs as it takes. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let tabs = 0; tabs < 60; tabs++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)) return
  }
  throw new Error(`${selector} is not reached by the keyboard`)
}

async function startRun(page: Page, path: string): Promise<void> {
  await tabTo(page, '.new-run textarea')
  await page.keyboard.press('Control+A')
  await page.keyboard.type(path)
  await tabTo(page, '.new-run .primary')
  await page.keyboard.press('Enter')
}

describe('the files of the console', () => {
  it('are sent under a policy that allows no script and no style but their own', async () => {
    const { createServer } = await import('../src/server/index.ts')
    const server = createServer('memory:')
    const get = (path: string, headers: Record<string, string> = {}) =>
      server.fetch(new Request(`http://localhost${path}`, { headers }))
    const page = await get('/')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).not.toContain('unsafe')
    expect(await page.text()).not.toMatch(/<style|style=|<script(?! type="module" src=)|https?:/)
    for (const file of ['console.js', 'console.css', 'icon.svg']) {
      const reply = await get(`/console/${file}`)
      expect(reply.status).toBe(200)
      const etag = reply.headers.get('etag') ?? ''
      expect((await get(`/console/${file}`, { 'if-none-match': etag })).status).toBe(304)
    }
    for (const path of ['/console/..%2fpackage.json', '/console/main.js', '/console/__proto__'])
      expect((await get(path)).status).toBe(404)
    await server.close()
  })
})
