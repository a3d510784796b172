/** The resolver: text or vector in, a stable id out. */

export type { PairExplanation } from './explain.ts'
export type { ClusterMember, RepresentativeInfo } from './members.ts'
export { openResolver } from './open.ts'
export { type ResolverOptions, type VectorOptions, resolverOptionsFrom } from './options.ts'
export type { ResolveStatus } from './resolve.ts'
export type {
  Resolution,
  ResolveItem,
  ResolveOutcome,
  Resolver,
  ResolverValue,
} from './resolver.ts'
export { resolverSpaces } from './rows.ts'
export { type ShownSettings as ResolverSettings } from './settings.ts'
export { storedResolver } from './stored.ts'
export type { GroupStats } from './stats.ts'
