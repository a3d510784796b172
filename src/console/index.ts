/** The web console: pages in a browser on what the HTTP API of a server answers. */

import { start } from './app.tsx'

start()
