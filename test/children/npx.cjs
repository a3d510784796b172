/**
 * `npx prestige` of the documents: hands the call to the process that listens at the socket of `PRESTIGE_TEST_SOCKET`,
 * which has everything loaded, and ends as it says.
 */

const { readFileSync, writeSync } = require('node:fs')
const { connect } = require('node:net')

const [, ...args] = process.argv.slice(2)
const call = { args, cwd: process.cwd(), input: readFileSync(0, 'base64') }
const socket = connect(process.env.PRESTIGE_TEST_SOCKET)
const parts = []
socket.on('data', (part) => parts.push(part))
socket.on('end', () => {
  const { code, out, err } = JSON.parse(Buffer.concat(parts).toString())
  writeAll(1, Buffer.from(out, 'base64'))
  writeAll(2, Buffer.from(err))
  process.exitCode = code
})
socket.end(JSON.stringify(call))

/** A reader that has seen enough is no failure, as it is none of the command line. */
function writeAll(file, bytes) {
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at)
  } catch (error) {
    if (error.code !== 'EPIPE') throw error
  }
}
