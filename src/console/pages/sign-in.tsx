/** Where the server asks for keys. */

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import { ApiProblem, call } from '../api/client.ts'
import { PageHead, ProblemNote } from '../parts/basics.tsx'
import { apiKey, isKeyNeeded } from '../state/session.ts'

export function SignInPage(): JSX.Element {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<ApiProblem>()
  const signIn = async (event: Event) => {
    event.preventDefault()
    try {
      await call('kv/_count', { headers: { 'x-api-key': text } })
    } catch (error) {
      const failed = ApiProblem.of(error)
      // A key that may not count here is a key all the same.
      if (failed.status === 401 || failed.status === 0) {
        setProblem(failed)
        return
      }
    }
    apiKey.set(text)
    isKeyNeeded.set(false)
  }
  return (
    <div class="sign-in">
      <PageHead title="Sign in" about="This server asks for an API key." />
      <form class="panel" onSubmit={(event) => void signIn(event)}>
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          required
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="submit" class="primary">
          Sign in
        </button>
        {problem && <ProblemNote problem={problem.status === 401 ? unknown : problem} />}
        <p class="soft">
          The key stays in this tab until it is closed. <code>prestige keys add</code> makes one.
        </p>
      </form>
    </div>
  )
}

const unknown = new ApiProblem(401, 'UNKNOWN_KEY', 'The server does not know this key.')
