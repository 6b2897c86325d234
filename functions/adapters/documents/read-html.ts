import sniffEncoding from 'html-encoding-sniffer';
import { readableHtml } from '../outbound/readable-html.ts';
import type { Extracted } from './extracted.ts';

/** A file has no base URL: relative links do not resolve and are left out. */
const noBaseUrl = new URL('about:blank');

export async function readHtml(bytes: Uint8Array): Promise<Extracted> {
  const encoding = sniffEncoding(bytes, { defaultEncoding: 'UTF-8' });
  return { text: htmlText(new TextDecoder(encoding).decode(bytes)), pageOffsets: [] };
}

export function htmlText(html: string): string {
  const { title, text } = readableHtml(html, noBaseUrl);
  return title === '' || text.startsWith(`# ${title}`) ? text : `${title}\n\n${text}`;
}
