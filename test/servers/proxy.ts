/**
 * A line between a client and a server that can be made to fail: a TCP proxy on a free port of the loopback.
 *
 * It knows nothing of what goes through it. "Losing a reply" is: what the client sends still reaches the server,
 * which acts on it, but what the server answers is dropped and the line is cut.
 */

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

interface Line {
  readonly client: Socket
  readonly server: Socket
  /** Replies are dropped from now on; the first of them cuts the line. */
  losesReplies: boolean
}

export class Proxy {
  readonly #server: Server
  readonly #target: { readonly host: string; readonly port: number }
  readonly #lines = new Set<Line>()
  #delayMs = 0
  #isRefusing = false
  /** Lines cut instead of answered, so far. */
  repliesLost = 0
  linesMade = 0

  private constructor(target: { host: string; port: number }) {
    this.#target = target
    this.#server = createServer((client) => this.#join(client))
  }

  static async to(port: number, host = '127.0.0.1'): Promise<Proxy> {
    const proxy = new Proxy({ host, port })
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port
  }

  /** Cuts all lines as they are: requests on their way may have arrived or not. */
  cut(): void {
    for (const line of this.#lines) end(line)
  }

  /** What is asked from now on is still passed on; its answer cuts the line. */
  loseReplies(): void {
    for (const line of this.#lines) line.losesReplies = true
  }

  /** Holds back every piece, both ways. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Makes no new lines, as a server that is down. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing
    if (isRefusing) this.cut()
  }

  async close(): Promise<void> {
    this.cut()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket): void {
    if (this.#isRefusing) {
      client.destroy()
      return
    }
    this.linesMade++
    const line: Line = { client, server: connect(this.#target), losesReplies: false }
    this.#lines.add(line)
    for (const socket of [client, line.server]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#lines.delete(line)
        end(line)
      })
    }
    client.on('data', (data) => this.#pass(() => line.server.write(data)))
    line.server.on('data', (data) => {
      if (line.losesReplies) {
        this.repliesLost++
        end(line)
      } else this.#pass(() => client.write(data))
    })
  }

  #pass(write: () => void): void {
    if (this.#delayMs === 0) write()
    else setTimeout(write, this.#delayMs)
  }
}

function end({ client, server }: Line): void {
  client.destroy()
  server.destroy()
}
