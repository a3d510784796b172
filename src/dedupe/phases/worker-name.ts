/**
 * Names of workers, made so that a worker of the same machine can see whether another one is still there. What a
 * dead one had leased need not wait until its lease is over.
 *
 * To be wrong about that costs time and nothing else: whoever lost a lease can write nothing more under it.
 */

import { createHash, randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

const NONCE = randomBytes(4).toString('hex')
const active = new Set<string>()
let count = 0

/** Machine, process, what this process alone knows, and a number: `mill-1f0c22aa:4711:9b1d33aa:1`. */
export function newWorker(): string {
  const name = `${machine()}:${process.pid}:${NONCE}:${++count}`
  active.add(name)
  return name
}

/** It works no more. */
export function endWorker(name: string): void {
  active.delete(name)
}

/** Whether a worker is certainly no more: one of this machine whose process has gone. */
export function isGone(name: string): boolean {
  const [where, pid = '', nonce] = name.split(':')
  if (nonce === undefined || where !== machine() || !/^\d+$/.test(pid)) return false
  if (Number(pid) === process.pid) return !active.has(name)
  return !isAlive(Number(pid))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is there, and not ours to signal.
    return Reflect.get(Object(error), 'code') === 'EPERM'
  }
}

let known: string | undefined

/** Processes see each other where the machine and the space of process numbers are the same. */
function machine(): string {
  known ??= machineName()
  return known
}

function machineName(): string {
  const name = hostname()
  const digest = createHash('sha256').update(`${name} ${processSpace()}`).digest('hex')
  return `${name.replaceAll(/[^\w.-]/g, '').slice(0, 40)}-${digest.slice(0, 8)}`
}

function processSpace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
