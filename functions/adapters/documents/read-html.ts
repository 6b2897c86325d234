import sniffEncoding from 'html-encoding-sniffer';
import { readableHtml } from '../outbound/readable-html.ts';
import type { Extracted } from './extracted.ts';

/** Where a file's relative links lead is not known, and they are left out. */
const nowhere = new URL('about:blank');

/** The thread that reads is ended, not asked to end. */
const never = new AbortController().signal;

export async function readHtml(bytes: Uint8Array): Promise<Extracted> {
  const encoding = sniffEncoding(bytes, { defaultEncoding: 'UTF-8' });
  return { text: await htmlText(new TextDecoder(encoding).decode(bytes)), pageOffsets: [] };
}

export async function htmlText(html: string): Promise<string> {
  const { title, text } = await readableHtml(html, nowhere, never);
  return title === '' || text.startsWith(`# ${title}`) ? text : `${title}\n\n${text}`;
}
