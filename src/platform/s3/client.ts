/**
 * The client of S3: an optional peer, loaded with the first `s3://` path. One for each thread, used until it ends.
 *
 * Credentials, region and endpoint come from where the SDK looks for them (the environment, ~/.aws, roles). With an
 * endpoint of its own (`AWS_ENDPOINT_URL_S3`), buckets are part of the path, since servers other than AWS rarely have
 * names for each bucket.
 */

import type * as AwsSdk from '@aws-sdk/client-s3'

import { PrestigeError } from '../errors.ts'

export type Sdk = typeof AwsSdk

export interface S3 {
  readonly sdk: Sdk
  readonly client: AwsSdk.S3Client
}

const ATTEMPTS = 5
const CONNECT_MS_MAX = 10_000
const SILENT_MS_MAX = 60_000
const SOCKETS_MAX = 64

let opened: { readonly endpoint: string | undefined; readonly s3: Promise<S3> } | undefined

export function openS3(): Promise<S3> {
  const endpoint = process.env['AWS_ENDPOINT_URL_S3'] ?? process.env['AWS_ENDPOINT_URL']
  if (opened?.endpoint !== endpoint) opened = undefined
  opened ??= { endpoint, s3: connect(endpoint) }
  return opened.s3
}

async function connect(endpoint: string | undefined): Promise<S3> {
  const sdk = await loadSdk()
  const { AWS_REGION: region, AWS_DEFAULT_REGION: usual, AWS_PROFILE: profile } = process.env
  // A server of its own has no regions, but signatures name one.
  const isUnsaid = endpoint !== undefined && !region && !usual && !profile
  const client = new sdk.S3Client({
    ...(isUnsaid && { region: 'us-east-1' }),
    ...(!region && usual && { region: usual }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    followRegionRedirects: true,
    maxAttempts: ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENT_MS_MAX,
      httpAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
      httpsAgent: { keepAlive: true, maxSockets: SOCKETS_MAX },
    },
  })
  return { sdk, client }
}

async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (error) {
    throw new PrestigeError(
      'PACKAGE_MISSING',
      'An s3:// path needs a package that is not installed: npm install @aws-sdk/client-s3',
      { cause: error },
    )
  }
}
