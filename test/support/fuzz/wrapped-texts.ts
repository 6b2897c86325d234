import { gzipSync } from 'node:zlib';

type Text = [what: string, body: Buffer, headers?: [string, string][]];

/** Variants of a valid JSON text: wrapped, encoded, cut, or with a wrong Content-Type. Some of them are valid. */
export function wrappedTexts(text: string): Text[] {
  const bytes = Buffer.from(text);
  const typed = (type: string): Text => [`Content-Type ${type}`, bytes, [['Content-Type', type]]];
  const coded = (coding: string, body: Buffer): Text => [
    `Content-Encoding ${coding}`,
    body,
    [['Content-Encoding', coding]],
  ];
  return [
    ['a byte order mark', Buffer.from(`\ufeff${text}`)],
    ['something behind', Buffer.from(`${text}x`)],
    ['another value behind', Buffer.from(`${text}${text}`)],
    ['a NUL behind', Buffer.from(`${text}\0`)],
    ['white space around', Buffer.from(` \t\r\n${text}\n`)],
    ['a comment', Buffer.from(`/* */${text}`)],
    ['a last comma', Buffer.from(text.replace(/\}$/, ',}'))],
    ['no end', bytes.subarray(0, -1)],
    ['half', bytes.subarray(0, bytes.length >> 1)],
    ['nothing', Buffer.alloc(0)],
    ['white space', Buffer.from(' ')],
    ['invalid UTF-8', Buffer.from(bytes.map((byte, index) => (index === bytes.length >> 1 ? 0xff : byte)))],
    [
      'an overlong slash',
      Buffer.concat([bytes.subarray(0, 2), Buffer.from([0xc0, 0xaf]), bytes.subarray(2)]),
    ],
    [
      'a surrogate in UTF-8',
      Buffer.concat([bytes.subarray(0, 2), Buffer.from([0xed, 0xa0, 0x80]), bytes.subarray(2)]),
    ],
    ['UTF-16', Buffer.from(text, 'utf16le'), [['Content-Type', 'application/json; charset=utf-16']]],
    ['UTF-7 by name', bytes, [['Content-Type', 'application/json; charset=utf-7']]],
    ...[
      '',
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      'application/json-seq',
      'json',
      'application/problem+json',
      'APPLICATION/JSON',
      '; ; ;',
      '\xff',
    ].map(typed),
    [
      'two Content-Types',
      bytes,
      [
        ['Content-Type', 'text/plain'],
        ['Content-Type', 'application/json'],
      ],
    ],
    coded('gzip', gzipSync(bytes)),
    coded('gzip', bytes),
    coded('identity', bytes),
    coded('br, gzip', gzipSync(bytes)),
    coded('nothing-known', bytes),
  ];
}
