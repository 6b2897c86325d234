import { isUtf8 } from 'node:buffer';
import { parse } from 'content-type';
import sniffEncoding from 'html-encoding-sniffer';
import type { WebPage } from '#domain/agents/web-pages.ts';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import { readableHtml } from './readable-html.ts';

type Kind = 'html' | 'xml' | 'text';

/** Types outside of text/* that are written to be read, as the registry of media types has them. */
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

/**
 * What a response says, as text.
 * @param header its Content-Type, if it has one
 * @throws OutboundFailure `unreadable` when it is no text, or the signal's reason
 */
export async function pageText(
  { header, body, address }: { header: string | undefined; body: Uint8Array; address: URL },
  signal: AbortSignal,
): Promise<Pick<WebPage, 'title' | 'text' | 'contentType'>> {
  const { type: contentType, charset } = header === undefined ? guess(body) : declared(header);
  const kind = kindOf(contentType);
  if (kind === undefined)
    throw new OutboundFailure('unreadable', `It is of the type ${contentType}, which cannot be read as text`);
  const text = decode(body, charset, kind);
  if (kind !== 'html') return { title: '', text, contentType };
  return { ...(await readableHtml(text, address, signal)), contentType };
}

/** No registered type comes near it. */
const longestType = 100;

function declared(header: string): { type: string; charset: string | undefined } {
  const { type, parameters } = parse(header);
  return { type: type.toLowerCase().slice(0, longestType), charset: parameters.charset };
}

/** Without a Content-Type: HTML when it begins like it, otherwise text, unless it holds what no text does. */
function guess(body: Uint8Array): { type: string; charset: undefined } {
  const start = Buffer.from(body.subarray(0, 1024));
  if (start.includes(0)) return { type: 'application/octet-stream', charset: undefined };
  const isHtml = /^\s*<(?:!doctype html|html|head|body|title|!--)/i.test(start.toString('latin1'));
  return { type: isHtml ? 'text/html' : 'text/plain', charset: undefined };
}

/**
 * By the byte order mark, the header, the page's own word, and last by whether it is UTF-8, as nearly every page is
 * that does not say.
 */
function decode(body: Uint8Array, charset: string | undefined, kind: Kind): string {
  const encoding = sniffEncoding(body, {
    xml: kind === 'xml',
    transportLayerEncodingLabel: charset,
    defaultEncoding: isUtf8(body) ? 'UTF-8' : 'windows-1252',
  });
  // What browsers do not decode either: it can make text say what no filter sees.
  if (encoding === 'replacement') throw new OutboundFailure('unreadable', 'Its encoding cannot be read');
  // The one encoding of HTML that TextDecoder does not know, and no page has.
  return new TextDecoder(encoding === 'x-user-defined' ? 'windows-1252' : encoding).decode(body);
}
