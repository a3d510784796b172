/** What a page has asked the server for: the answer, or what went wrong. The last answer stays until the next one. */

import { type Inputs, useCallback, useEffect, useState } from 'preact/hooks'

import { ApiProblem } from '../api/client.ts'

export interface Loaded<T> {
  readonly value?: T
  readonly problem?: ApiProblem
  readonly isLoading: boolean
}

export type Load<T> = (signal: AbortSignal) => Promise<T>

/** Asks when the component appears and when an input changes. `undefined`: there is nothing to ask for. */
export function useLoaded<T>(
  load: Load<T> | undefined,
  inputs: Inputs,
): Loaded<T> & { readonly reload: () => void } {
  const [state, setState] = useState<Loaded<T>>({ isLoading: load !== undefined })
  const [round, setRound] = useState(0)
  useEffect(() => {
    if (!load) {
      setState({ isLoading: false })
      return undefined
    }
    const controller = new AbortController()
    setState(({ value }) => ({ ...(value !== undefined && { value }), isLoading: true }))
    const ask = async () => {
      const next = await settled(load, controller.signal)
      if (!controller.signal.aborted) setState(next)
    }
    void ask()
    return () => controller.abort()
  }, [...inputs, round])
  const reload = useCallback(() => setRound((at) => at + 1), [])
  return { ...state, reload }
}

async function settled<T>(load: Load<T>, signal: AbortSignal): Promise<Loaded<T>> {
  try {
    return { value: await load(signal), isLoading: false }
  } catch (error) {
    return { problem: ApiProblem.of(error), isLoading: false }
  }
}

/** Calls again and again, one call at a time, and not while nobody looks. */
export function useRepeated(everyMs: number, action: Load<void>, inputs: Inputs): void {
  useEffect(() => {
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const turn = async () => {
      if (!document.hidden) await settled(action, controller.signal)
      if (!controller.signal.aborted) timer = setTimeout(() => void turn(), everyMs)
    }
    void turn()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, inputs)
}

/** The value, once it has not changed for a moment. */
export function useSettled<T>(value: T, ms = 300): T {
  const [settledValue, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settledValue
}
