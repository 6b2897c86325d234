import { isUtf8 } from 'node:buffer';
import { parse } from 'content-type';
import sniffEncoding from 'html-encoding-sniffer';
import type { WebPage } from '#domain/agents/agents.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { readableHtml } from './readable-html.ts';

type Kind = 'html' | 'xml' | 'text';

const kinds: Readonly<Record<string, Kind>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/xml': 'xml',
  'application/xml': 'xml',
  'application/json': 'text',
  'application/x-ndjson': 'text',
  'application/yaml': 'text',
  'application/toml': 'text',
  'application/javascript': 'text',
  'application/sql': 'text',
};

function kindOf(type: string): Kind | undefined {
  if (Object.hasOwn(kinds, type)) return kinds[type];
  if (type.endsWith('+xml')) return 'xml';
  return type.startsWith('text/') || type.endsWith('+json') ? 'text' : undefined;
}

export interface PageToRead {
  header: string | undefined;
  body: Uint8Array;
  address: string;
}

export type PageText = Pick<WebPage, 'title' | 'text' | 'contentType'>;

/**
 * It may take a second, so call it only in a worker thread.
 * @throws OutboundFailure `unreadable`, such as for a type that is not read as text
 */
export async function pageText({ header, body, address }: PageToRead): Promise<PageText> {
  const { type: contentType, charset } = header === undefined ? guess(body) : declared(header);
  const kind = kindOf(contentType);
  if (kind === undefined)
    throw new OutboundFailure('unreadable', `It is of the type ${contentType}, which cannot be read as text`);
  const text = decode(body, charset, kind);
  if (kind !== 'html') return { title: '', text, contentType };
  return { ...readableHtml(text, new URL(address)), contentType };
}

/** A longer type is cut, because it can reach an error message. */
const longestType = 100;

function declared(header: string): { type: string; charset: string | undefined } {
  const { type, parameters } = parse(header);
  return { type: type.toLowerCase().slice(0, longestType), charset: parameters.charset };
}

function guess(body: Uint8Array): { type: string; charset: undefined } {
  const start = Buffer.from(body.subarray(0, 1024));
  if (start.includes(0)) return { type: 'application/octet-stream', charset: undefined };
  const isHtml = /^\s*<(?:!doctype html|html|head|body|title|!--)/i.test(start.toString('latin1'));
  return { type: isHtml ? 'text/html' : 'text/plain', charset: undefined };
}

function decode(body: Uint8Array, charset: string | undefined, kind: Kind): string {
  const encoding = sniffEncoding(body, {
    xml: kind === 'xml',
    transportLayerEncodingLabel: charset,
    defaultEncoding: isUtf8(body) ? 'UTF-8' : 'windows-1252',
  });
  // `replacement` is for encodings that browsers do not decode either: with them, a text can hide from filters.
  if (encoding === 'replacement') throw new OutboundFailure('unreadable', 'Its encoding cannot be read');
  // Not every version of Node.js decodes `x-user-defined`. Its ASCII characters are those of windows-1252.
  return new TextDecoder(encoding === 'x-user-defined' ? 'windows-1252' : encoding).decode(body);
}
