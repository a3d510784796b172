/** Pieces that every page is made of. */

import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

import type { ApiProblem } from '../api/client.ts'
import { pathOf, shownKey } from '../api/keys.ts'
import type { Key } from '../api/types.ts'
import type { Loaded } from '../state/loaded.ts'
import { hrefOf } from '../state/place.ts'

interface With {
  readonly children?: ComponentChildren
}

export function PageHead({
  title,
  about,
  children,
}: With & { readonly title: string; readonly about: string }): JSX.Element {
  useEffect(() => {
    document.title = `${title} · prestige console`
  }, [title])
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        <p class="soft">{about}</p>
      </div>
      <div class="actions">{children}</div>
    </header>
  )
}

export function Panel({
  title,
  note,
  children,
  actions,
  class: name = '',
}: With & {
  readonly title?: string
  readonly note?: string | undefined
  readonly actions?: ComponentChildren
  readonly class?: string
}): JSX.Element {
  return (
    <section class={`panel ${name}`}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {note !== undefined && <span class="soft">{note}</span>}
          {actions}
        </header>
      )}
      {children}
    </section>
  )
}

export interface FigureProps {
  readonly label: string
  readonly value: string | undefined
  readonly note?: ComponentChildren
  readonly tone?: string
}

export function Figures({ of }: { readonly of: readonly FigureProps[] }): JSX.Element {
  return (
    <dl class="figures">
      {of.map(({ label, value, note, tone = '' }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd class={tone}>
            {value ?? '–'}
            <small>{note ?? '\u00a0'}</small>
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Nothing here: what that means, and what to do. */
export function Empty({ title, children }: With & { readonly title: string }): JSX.Element {
  return (
    <div class="empty">
      <strong>{title}</strong>
      <div>{children}</div>
    </div>
  )
}

export function ProblemNote({
  problem,
  missing,
}: {
  readonly problem: ApiProblem
  /** In place of the problem, where the server has no such route. */
  readonly missing?: string | undefined
}): JSX.Element {
  if (problem.isMissingRoute && missing !== undefined)
    return <Empty title="Not on this server">{missing}</Empty>
  return (
    <div class="problem" role="alert">
      <strong>{problem.code.toLowerCase().replaceAll('_', ' ')}</strong> {problem.message}
    </div>
  )
}

/** What was loaded, or a place of the same size while it is not, or what went wrong. */
export function Shown<T>({
  loaded,
  missing,
  children,
}: {
  readonly loaded: Loaded<T>
  readonly missing?: string
  readonly children: (value: T) => ComponentChildren
}): JSX.Element {
  const { value, problem, isLoading } = loaded
  if (problem) return <ProblemNote problem={problem} missing={missing} />
  if (value === undefined)
    return isLoading ? <div class="loading" role="status" aria-label="Loading" /> : <></>
  return <div class={isLoading ? 'is-stale' : ''}>{children(value)}</div>
}

export function KeyLink({ of }: { readonly of: Key }): JSX.Element {
  return (
    <a class="mono" href={hrefOf('browse', [pathOf(of)])}>
      <bdi>{shownKey(of)}</bdi>
    </a>
  )
}

export function Status({ of }: { readonly of: string }): JSX.Element {
  return <span class={`status is-${of}`}>{of}</span>
}

/** A table that scrolls within its own place. */
export function Table({
  heads,
  label,
  children,
}: With & {
  readonly heads: readonly (string | { readonly number: string })[]
  readonly label: string
}): JSX.Element {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) =>
              typeof head === 'string' ? (
                <th key={head}>{head}</th>
              ) : (
                <th key={head.number} class="number">
                  {head.number}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

export function Dialog({
  title,
  onClose,
  children,
}: With & { readonly title: string; readonly onClose: () => void }): JSX.Element {
  const own = useRef<HTMLDialogElement>(null)
  useEffect(() => own.current?.showModal(), [])
  return (
    <dialog ref={own} onClose={onClose} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={() => own.current?.close()}>
          Close
        </button>
      </header>
      {children}
    </dialog>
  )
}
