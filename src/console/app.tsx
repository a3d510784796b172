/** The frame of every page: navigation, namespace, key, theme, shortcuts. */

import { type FunctionComponent, type JSX, render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'

import { BrowsePage } from './pages/browse.tsx'
import { ComparePage } from './pages/compare.tsx'
import { LedgerPage } from './pages/ledger.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { RunsPage } from './pages/runs.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { TunePage } from './pages/tune.tsx'
import { Dialog, Empty } from './parts/basics.tsx'
import { Icon, type IconName } from './parts/icons.tsx'
import { NamespaceChooser } from './parts/namespace.tsx'
import { useObserved } from './state/observable.ts'
import { goTo, hrefOf, place } from './state/place.ts'
import { apiKey, applyTheme, isKeyNeeded, namespace, switchTheme } from './state/session.ts'
import { listenForShortcuts, type Shortcut, shortcutsNow, useShortcuts } from './state/shortcuts.ts'

interface PageEntry {
  readonly name: IconName
  readonly title: string
  readonly content: FunctionComponent
}

const PAGES: readonly PageEntry[] = [
  { name: 'overview', title: 'Overview', content: OverviewPage },
  { name: 'browse', title: 'Browse', content: BrowsePage },
  { name: 'compare', title: 'Compare', content: ComparePage },
  { name: 'runs', title: 'Runs', content: RunsPage },
  { name: 'tune', title: 'Tune', content: TunePage },
  { name: 'ledger', title: 'Ledger', content: LedgerPage },
]

export function start(): void {
  applyTheme()
  listenForShortcuts()
  const root = document.querySelector('#console')
  if (root) render(<App />, root)
}

function App(): JSX.Element {
  const isAsked = useObserved(isKeyNeeded)
  const where = useObserved(place)
  const inNamespace = useObserved(namespace)
  const caller = useObserved(apiKey)
  const [isHelpOpen, setHelpOpen] = useState(false)
  useShortcuts(useMemo(() => consoleShortcuts(() => setHelpOpen(true)), []))
  useEffect(() => {
    // Whoever changes the page by keyboard goes on reading at its beginning.
    document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [where.page])
  const page = PAGES.find(({ name }) => name === where.page)
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to content
      </a>
      <Sidebar current={where.page} onHelp={() => setHelpOpen(true)} />
      {/* Another namespace or key: everything is loaded again. */}
      <main id="main" tabIndex={-1} key={`${inNamespace}\n${caller}`}>
        {isAsked ? <SignInPage /> : page ? <page.content key={page.name} /> : <NoPage />}
      </main>
      {isHelpOpen && <ShortcutsDialog onClose={() => setHelpOpen(false)} />}
    </>
  )
}

/** The address is that of the page, so the link must not change it. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function consoleShortcuts(openHelp: () => void): Shortcut[] {
  return [
    ...PAGES.map(({ name, title }, at) => ({
      key: String(at + 1),
      does: `Go to ${title}`,
      action: () => goTo(hrefOf(name)),
    })),
    { key: '/', does: 'Go to the first field of the page', action: focusFirstField },
    { key: 't', does: 'Switch between light and dark', action: switchTheme },
    { key: '?', does: 'Show this list', action: openHelp },
  ]
}

function focusFirstField(): void {
  document.querySelector<HTMLElement>('main :is(input:not([type=file]), textarea)')?.focus()
}

function Sidebar({
  current,
  onHelp,
}: {
  readonly current: string
  readonly onHelp: () => void
}): JSX.Element {
  const caller = useObserved(apiKey)
  const signOut = () => {
    apiKey.set('')
    isKeyNeeded.set(true)
  }
  return (
    <header class="sidebar">
      <a class="brand" href={hrefOf('overview')}>
        <img src="/console/icon.svg" alt="" width="24" height="24" />
        prestige
      </a>
      <nav aria-label="Pages">
        {PAGES.map(({ name, title }) => (
          <a key={name} href={hrefOf(name)} aria-current={name === current ? 'page' : undefined}>
            <Icon name={name} />
            {title}
          </a>
        ))}
      </nav>
      <div class="tools">
        <NamespaceChooser />
        <button type="button" class="quiet" onClick={switchTheme} aria-label="Light or dark">
          <Icon name="theme" />
          <span>Light or dark</span>
        </button>
        <button type="button" class="quiet" onClick={onHelp} aria-label="Keyboard shortcuts">
          <Icon name="keys" />
          <span>Shortcuts</span> <kbd>?</kbd>
        </button>
        {caller !== '' && (
          <button type="button" class="quiet" onClick={signOut} aria-label="Sign out">
            <Icon name="out" />
            <span>Sign out</span>
          </button>
        )}
      </div>
    </header>
  )
}

function ShortcutsDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="shortcuts">
        {shortcutsNow().map(({ key, does }) => (
          <div key={key}>
            <dt>
              <kbd>{key === ' ' ? 'space' : key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

function NoPage(): JSX.Element {
  return (
    <Empty title="There is no such page">
      <a href={hrefOf('overview')}>Go to the overview</a>
    </Empty>
  )
}
