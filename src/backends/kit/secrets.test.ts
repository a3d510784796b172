import { describe, expect, it } from 'vitest'

import { withoutSecrets, withoutSecretsInText } from './secrets.ts'

describe('a location is shown without its secrets', () => {
  it.each([
    ['redis://me:secret@host:1/0', 'redis://me:***@host:1/0'],
    ['redis://:se@cr:et@host', 'redis://:***@host'],
    ['reids:/me:secret@host', 'reids:/me:***@host'],
    ['redis://secret@host', 'redis://***@host'],
    ['redis://:se?cret@host', 'redis://***@host'],
    ['redis://:se?c=ret@host', 'redis://***@host'],
    ['redis://:se#c/ret@host', 'redis://:***@host'],
    ['redis://:se%3Fcret@host/0?prefix=a', 'redis://:***@host/0?prefix=a'],
    ['redis://h?password=secret', 'redis://h?password=***'],
    ['redis://h/0?prefix=a&Pass=secret&cluster=true', 'redis://h/0?prefix=a&Pass=***&cluster=true'],
    ['redis://h?%70assword=secret', 'redis://h?%70assword=***'],
    ['redis://h?authToken=secret&a=%', 'redis://h?authToken=***&a=***'],
    ['dynamodb://u:secret@eu-west-1/x', 'dynamodb://u:***@eu-west-1/x'],
    [
      'dynamodb://eu-west-1/x?cache=redis://:secret@h/1&cacheBytes=9',
      'dynamodb://eu-west-1/x?cache=redis://:***@h/1&cacheBytes=9',
    ],
    [
      'dynamodb://eu-west-1/x?cache=redis%3A%2F%2F%3Asecret%40h',
      'dynamodb://eu-west-1/x?cache=redis://:***@h',
    ],
    [
      'dynamodb://eu-west-1/x?endpoint=https%3A%2F%2Fh%3Fsecret_key%3Dsecret',
      'dynamodb://eu-west-1/x?endpoint=https://h?secret_key=***',
    ],
    ['./me:a@b', './me:a@b'],
    ['redis://host:6379/0?prefix=a', 'redis://host:6379/0?prefix=a'],
    ['', ''],
  ])('%s', (location, shown) => expect(withoutSecrets(location)).toBe(shown))
})

describe('a text is shown without the secrets of the URLs in it', () => {
  it.each([
    [
      'tried redis://:one@a/0, then "redis://b?token=two" and <dynamodb://u:three@eu/x>.',
      'tried redis://:***@a/0, then "redis://b?token=***" and <dynamodb://u:***@eu/x>.',
    ],
    ['ENOENT: /tmp/redis:/:a/b@host', 'ENOENT: /tmp/redis:/:***@host'],
    ['https://me:pw@h/a is gone', 'https://me:***@h/a is gone'],
    ['https://h/@name/post?a=b@c stays', 'https://h/@name/post?*** stays'],
    ['https://h/@name/post stays', 'https://h/@name/post stays'],
    ['no URL: me:a@b', 'no URL: me:a@b'],
  ])('%s', (text, shown) => expect(withoutSecretsInText(text)).toBe(shown))
})
