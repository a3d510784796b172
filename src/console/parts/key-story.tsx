/** Why a key points where it points: its content, who shares it, what it is linked to and why. */

import type { JSX } from 'preact'

import { postJson } from '../api/client.ts'
import { pathOf } from '../api/keys.ts'
import type { Key, KeyExplanation } from '../api/types.ts'
import { useLoaded } from '../state/loaded.ts'
import { hrefOf } from '../state/place.ts'
import { KeyLink, Panel, Shown, Status } from './basics.tsx'
import { countOf, moment, percent, size } from './format.ts'
import { Vetoes } from './side-by-side.tsx'

const SHARED_MAX = 50
const METHODS: Readonly<Record<string, string>> = {
  digest: 'the very same bytes',
  canonical: 'the same in canonical form',
  near: 'near-identical wording',
  semantic: 'the same meaning',
}

export function KeyStory({ of }: { readonly of: Key }): JSX.Element {
  const story = useLoaded(
    (signal) => postJson<KeyExplanation>('explain', { key: of, limit: SHARED_MAX }, signal),
    [pathOf(of)],
  )
  return (
    <Panel title="Why it is here" class="story">
      <Shown loaded={story} missing="This server does not explain keys.">
        {(value) => <Story of={value} />}
      </Shown>
    </Panel>
  )
}

function Story({ of: story }: { readonly of: KeyExplanation }): JSX.Element {
  const { points, digest, sharedWith, refused, delta } = story
  return (
    <>
      <Outcome of={story} />
      {refused && (
        <div class="refused">
          <p>
            Not the same as <KeyLink of={refused.of.firstKey} />, although it is{' '}
            <strong>{percent(refused.similarity)}</strong> similar:
          </p>
          <Vetoes of={refused.vetoes} />
          <CompareLink a={story.key} b={refused.of.firstKey} />
        </div>
      )}
      <dl class="facts-list">
        <dt>Content</dt>
        <dd class="mono">{points.content}</dd>
        <dt>First stored</dt>
        <dd>
          {moment(points.storedAt)} as <KeyLink of={points.firstKey} />
        </dd>
        <dt>SHA-256</dt>
        <dd class="mono">{digest}</dd>
        {delta && (
          <>
            <dt>Kept as</dt>
            <dd>
              what differs from <code>{delta.of}</code> ({size(delta.bytes)})
            </dd>
          </>
        )}
        <dt>Shared with</dt>
        <dd>{sharedWith.length === 0 ? 'no other key' : <SharedKeys of={sharedWith} />}</dd>
      </dl>
    </>
  )
}

function Outcome({ of: story }: { readonly of: KeyExplanation }): JSX.Element {
  const { content, of, method, similarity, threshold } = story
  if (!of)
    return (
      <p class="outcome">
        <Status of="new" /> Nothing like it was known when it was put.
      </p>
    )
  return (
    <p class="outcome">
      <Status of={content} /> {content === 'linked' ? 'Linked to' : 'A duplicate of'}{' '}
      <KeyLink of={of.firstKey} />: {METHODS[method ?? ''] ?? method}
      {similarity !== undefined && (
        <>
          , <strong>{percent(similarity)}</strong> similar (at least {percent(threshold ?? 0, 0)}{' '}
          are needed)
        </>
      )}
      . <CompareLink a={story.key} b={of.firstKey} />
    </p>
  )
}

function CompareLink({ a, b }: { readonly a: Key; readonly b: Key }): JSX.Element {
  return (
    <a class="nowrap" href={hrefOf('compare', [], { a: pathOf(a), b: pathOf(b) })}>
      Compare the two
    </a>
  )
}

function SharedKeys({ of }: { readonly of: readonly Key[] }): JSX.Element {
  return (
    <>
      {countOf(of.length, of.length === SHARED_MAX ? 'or more key' : 'key')}
      <ul class="shared">
        {of.map((key) => (
          <li key={pathOf(key)}>
            <KeyLink of={key} />
          </li>
        ))}
      </ul>
    </>
  )
}
