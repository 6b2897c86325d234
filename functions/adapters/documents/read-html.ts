import sniffEncoding from 'html-encoding-sniffer';
import { readableHtml } from '#adapters/outbound/readable-html.ts';
import { decodeText } from './decode-text.ts';
import type { Extracted } from './extracted.ts';

const noBaseUrl = new URL('about:blank');

/** @param charset the encoding that was declared with the file */
export function readHtml(bytes: Uint8Array, charset?: string): Extracted {
  const declared = sniffEncoding(bytes, {
    defaultEncoding: '',
    ...(charset !== undefined && { transportLayerEncodingLabel: charset }),
  });
  const { text, notices } = decodeText(bytes, declared);
  return { text: htmlText(text), pageOffsets: [], notices };
}

export function htmlText(html: string): string {
  const { title, text } = readableHtml(html, noBaseUrl);
  return title === '' || text.startsWith(`# ${title}`) ? text : `${title}\n\n${text}`;
}
