#!/usr/bin/env node
/** The command `prestige`, as a process. */

import { run } from './run.ts'

process.exitCode = await run(process.argv.slice(2))
