// npm sets the command's executable bit when it links a package, and only then: `npx` run a second time from the
// same path finds its link in the cache and links nothing. So the build sets the bit itself.
import { chmodSync } from 'node:fs'

chmodSync(new URL('../dist/command/main.js', import.meta.url), 0o755)
