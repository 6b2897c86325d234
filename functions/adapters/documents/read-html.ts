import sniffEncoding from 'html-encoding-sniffer';
import { readableHtml } from '../outbound/readable-html.ts';
import type { Extracted } from './extracted.ts';

/** A file has no base URL: relative links do not resolve and are left out. */
const noBaseUrl = new URL('about:blank');

/** No abort signal is needed: the worker thread is terminated instead. */
const neverAborted = new AbortController().signal;

export async function readHtml(bytes: Uint8Array): Promise<Extracted> {
  const encoding = sniffEncoding(bytes, { defaultEncoding: 'UTF-8' });
  return { text: await htmlText(new TextDecoder(encoding).decode(bytes)), pageOffsets: [] };
}

export async function htmlText(html: string): Promise<string> {
  const { title, text } = await readableHtml(html, noBaseUrl, neverAborted);
  return title === '' || text.startsWith(`# ${title}`) ? text : `${title}\n\n${text}`;
}
