/** Two texts side by side, with the words marked that only one of them has. */

import type { JSX } from 'preact'

import type { Alignment } from '../api/types.ts'

type Span = Alignment['spans'][number]

export function SideBySide({
  alignment: { spans, isComplete },
  names: [nameA, nameB],
}: {
  readonly alignment: Alignment
  readonly names: readonly [string, string]
}): JSX.Element {
  return (
    <>
      <div class="sides">
        <Side name={nameA} spans={spans} side="a" />
        <Side name={nameB} spans={spans} side="b" />
      </div>
      {!isComplete && (
        <p class="soft">The texts are long or very different: more may be shared than is marked.</p>
      )}
    </>
  )
}

function Side({
  name,
  spans,
  side,
}: {
  readonly name: string
  readonly spans: readonly Span[]
  readonly side: 'a' | 'b'
}): JSX.Element {
  return (
    <section aria-label={name}>
      <h3>
        <bdi>{name}</bdi>
      </h3>
      <div class="text" dir="auto">
        {spans.map((span, at) => partOf(span, side, at))}
      </div>
    </section>
  )
}

function partOf(span: Span, side: 'a' | 'b', at: number): JSX.Element | string | undefined {
  if (span.kind === 'same') return span[side]
  if (span.kind === 'only-a') return side === 'a' ? <del key={at}>{span.a}</del> : undefined
  return side === 'b' ? <ins key={at}>{span.b}</ins> : undefined
}

export type VetoLine =
  | { readonly guard: string; readonly a: readonly string[]; readonly b: readonly string[] }
  | { readonly guard: 'rerank'; readonly score: number | undefined }
  | { readonly guard: 'judge'; readonly said: string }

/** What keeps two texts apart, however similar they are. */
export function Vetoes({ of }: { readonly of: readonly VetoLine[] }): JSX.Element {
  return (
    <ul class="vetoes">
      {of.map((veto, at) => (
        <li key={at}>
          <span class="tag">{veto.guard}</span> {differenceOf(veto)}
        </li>
      ))}
    </ul>
  )
}

function differenceOf(veto: VetoLine): JSX.Element {
  if ('said' in veto) return <>says {veto.said}</>
  if ('score' in veto) return <>{veto.score === undefined ? 'no score' : veto.score.toFixed(2)}</>
  return (
    <>
      <del>{veto.a.join(', ') || 'nothing'}</del> ↔ <ins>{veto.b.join(', ') || 'nothing'}</ins>
    </>
  )
}
