/** The contract between jobs and engines, and the way to open an engine by its location. */

export {
  type Ask,
  type Backend,
  type BackendLimits,
  type BackendOptions,
  type Body,
  type Cell,
  type Codec,
  type EngineFile,
  type FirstAsk,
  type GlanceAsk,
  type Range,
  type ReadAsk,
  type ReadBody,
  type ReadScope,
  type Row,
  type RowReader,
  type RowsAsk,
  type Scope,
  type Space,
  type Transaction,
  cell,
  first,
  glance,
  read,
  rows,
  rowsOf,
  tallies,
} from './contract.ts'
export { Gate } from './kit/gate.ts'
export { metered } from './kit/metered.ts'
export { ID_BYTES, idTime } from './kit/ids.ts'
export { namespacePrefix } from './kit/namespace.ts'
export { OverlayBackend } from './kit/overlay.ts'
export { type SealedCodec, checksumOf, hasFormat, sealed } from './kit/sealed.ts'
export { withoutSecrets, withoutSecretsInText } from './kit/secrets.ts'
export { type LocationOptions, namespacesAt } from './open.ts'
export { type Location, backendAt, openAt, withBackendAt } from './open-at.ts'
