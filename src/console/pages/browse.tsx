/** Keys by prefix, and one of them: its value, its content and what that is linked to. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { ApiProblem, call, queryText } from '../api/client.ts'
import { keyOf, pathOf, shownKey } from '../api/keys.ts'
import type { Key } from '../api/types.ts'
import { Empty, PageHead, Panel, ProblemNote } from '../parts/basics.tsx'
import { KeyStory } from '../parts/key-story.tsx'
import { ValueView } from '../parts/value-view.tsx'
import { useSettled } from '../state/loaded.ts'
import { useObserved } from '../state/observable.ts'
import { hrefOf, place } from '../state/place.ts'

const PAGE_KEYS = 100

export function BrowsePage(): JSX.Element {
  const { rest, query } = useObserved(place)
  const [selected] = rest
  const [prefix, setPrefix] = useState(query.get('prefix') ?? '')
  const asked = useSettled(prefix, 200)
  return (
    <>
      <PageHead title="Browse" about="Keys in byte order, and what each of them points at." />
      <div class={`browse ${selected === undefined ? '' : 'has-key'}`}>
        <Panel class="key-list">
          <label class="field">
            <span>Prefix</span>
            <input
              type="search"
              value={prefix}
              spellcheck={false}
              placeholder="all keys"
              onInput={({ currentTarget }) => setPrefix(currentTarget.value)}
            />
          </label>
          <Keys prefix={asked} selected={selected} />
        </Panel>
        {selected === undefined ? (
          <Panel>
            <Empty title="No key is selected">
              Select one to see its value and why it is there.
            </Empty>
          </Panel>
        ) : (
          <OneKey path={selected} prefix={asked} />
        )}
      </div>
    </>
  )
}

interface Listed {
  readonly keys: readonly Key[]
  readonly next?: string | undefined
  readonly problem?: ApiProblem
}

function Keys({
  prefix,
  selected,
}: {
  readonly prefix: string
  readonly selected: string | undefined
}): JSX.Element {
  const [listed, setListed] = useState<Listed>()
  const list = async (before: readonly Key[], after: string | undefined, signal?: AbortSignal) => {
    try {
      const query = queryText({ prefix, after, limit: PAGE_KEYS })
      const response = await call(`kv${query}`, signal ? { signal } : {})
      const keys: readonly Key[] = await response.json()
      const next = response.headers.get('prestige-next') ?? undefined
      setListed({ keys: [...before, ...keys], next })
    } catch (error) {
      if (!signal?.aborted) setListed({ keys: before, problem: ApiProblem.of(error) })
    }
  }
  useEffect(() => {
    const controller = new AbortController()
    void list([], undefined, controller.signal)
    return () => controller.abort()
  }, [prefix])
  useEffect(() => {
    document.querySelector('.key-list [aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [selected, listed === undefined])
  if (!listed) return <div class="loading" role="status" aria-label="Loading" />
  const { keys, next, problem } = listed
  if (problem) return <ProblemNote problem={problem} />
  if (keys.length === 0) return <Empty title="No keys">None begins with this.</Empty>
  return (
    <>
      <ul aria-label="Keys">
        {keys.map((key) => (
          <li key={pathOf(key)}>
            <a
              class="mono"
              href={hrefOf('browse', [pathOf(key)], { prefix })}
              aria-current={pathOf(key) === selected ? 'true' : undefined}
            >
              <bdi>{shownKey(key)}</bdi>
            </a>
          </li>
        ))}
      </ul>
      {next !== undefined && (
        <button type="button" onClick={() => void list(keys, next)}>
          More keys
        </button>
      )}
    </>
  )
}

function OneKey({ path, prefix }: { readonly path: string; readonly prefix: string }): JSX.Element {
  const key = keyOf(path)
  return (
    <div class="one-key" key={path}>
      <a class="back" href={hrefOf('browse', [], { prefix })}>
        ← All keys
      </a>
      <Panel class="value">
        <h2 class="mono">
          <bdi>{shownKey(key)}</bdi>
        </h2>
        <ValueView path={path} />
      </Panel>
      <KeyStory of={key} />
    </div>
  )
}
