/** Why a document was kept, linked or dropped. */

import type { JSX } from 'preact'

import { getJson } from '../api/client.ts'
import type { Explained, Why } from '../api/types.ts'
import { PageHead, Panel, Shown, Status, Table } from '../parts/basics.tsx'
import { DocumentLink } from '../parts/document.tsx'
import { moment, percent, size } from '../parts/format.ts'
import { SideBySide, Vetoes } from '../parts/side-by-side.tsx'
import { useLoaded } from '../state/loaded.ts'
import { hrefOf } from '../state/place.ts'

/** `id` is percent-encoded. */
export function WhyPage({ id }: { readonly id: string }): JSX.Element {
  const why = useLoaded((signal) => getJson<Explained>(`documents/${id}/why`, signal), [id])
  return (
    <>
      <a class="back" href={hrefOf('runs')}>
        ← All runs
      </a>
      <PageHead
        title={decodeURIComponent(id)}
        about="Why this document was kept, linked or dropped."
      />
      <Shown loaded={why}>
        {({ documents, rejected = [] }) => (
          <>
            {documents.map((one) => (
              <ExplainedDocument key={one.key} of={one} />
            ))}
            {rejected.map(({ line, reason, message }) => (
              <Panel key={line} title="Rejected" note={`line ${line}`}>
                <Status of="rejected" /> {reason}: {message}
              </Panel>
            ))}
          </>
        )}
      </Shown>
    </>
  )
}

function ExplainedDocument({ of: why }: { readonly of: Why }): JSX.Element {
  const { against, alignment, vetoes = [], nearest = [] } = why
  const other = [against, ...nearest].find((one) => one?.key === alignment?.with)
  return (
    <>
      <Panel title="Decision" note={why.file}>
        <Decision of={why} />
        <Facts of={why} />
      </Panel>
      {vetoes.length > 0 && (
        <Panel title="Guards that kept it apart">
          <Vetoes of={vetoes} />
        </Panel>
      )}
      {alignment && other ? (
        <Panel title="Side by side">
          <SideBySide alignment={alignment} names={[why.id, other.id]} />
        </Panel>
      ) : (
        <Panel title="Text">
          <p class="text" dir="auto">
            {why.text ?? why.missing ?? 'The text is not known here.'}
          </p>
        </Panel>
      )}
      {nearest.length > 0 && <Nearest of={nearest} />}
    </>
  )
}

function Decision({ of: why }: { readonly of: Why }): JSX.Element {
  const { status, method, similarity, threshold, against, kept } = why
  return (
    <p class="outcome">
      <Status of={status} />{' '}
      {against ? (
        <>
          {method} with <DocumentLink of={against} />
          {similarity !== undefined && (
            <>
              , <strong>{percent(similarity)}</strong> similar
            </>
          )}
          {threshold !== undefined && ` (at least ${percent(threshold, 0)} are needed)`}.
        </>
      ) : (
        'It was like no other document.'
      )}
      {kept && kept.key !== against?.key && (
        <>
          {' '}
          Kept in its place: <DocumentLink of={kept} />.
        </>
      )}
    </p>
  )
}

function Facts({ of: { source, run, bytes, file, line, at } }: { readonly of: Why }): JSX.Element {
  return (
    <dl class="facts-list">
      <dt>Source</dt>
      <dd>
        <bdi>{source || '(none)'}</bdi>
      </dd>
      <dt>Run</dt>
      <dd>
        <a href={hrefOf('runs', [encodeURIComponent(run)])}>{run}</a>
        {at !== undefined && `, ${moment(at)}`}
      </dd>
      <dt>Text</dt>
      <dd>
        {size(bytes)}
        {file !== undefined && `, ${file}${line === undefined ? '' : `, line ${line}`}`}
      </dd>
    </dl>
  )
}

function Nearest({ of }: { readonly of: NonNullable<Why['nearest']> }): JSX.Element {
  return (
    <Panel title="Most similar, and not duplicates">
      <Table label="Most similar documents" heads={['Document', { number: 'Similarity' }, 'Text']}>
        {of.map((one) => (
          <tr key={one.key}>
            <td>
              <DocumentLink of={one} />
            </td>
            <td class="number">{percent(one.similarity)}</td>
            <td class="soft">{(one.text ?? '').slice(0, 140)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
