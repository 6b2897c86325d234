import { parentPort } from 'node:worker_threads';
import { rankTexts, searchIndexes } from '#adapters/knowledge/knowledge-index.ts';
import { pageText } from '#adapters/outbound/page-text.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { TextWork, TextWorkResponse } from './text-worker.ts';

const search = searchIndexes();

async function resultOf(work: TextWork): Promise<unknown> {
  switch (work.type) {
    case 'rank':
      return rankTexts(work.texts, work.query, work.limit);
    case 'search':
      return search(work);
    case 'read page':
      return pageText(work);
  }
}

async function respond(work: TextWork): Promise<TextWorkResponse> {
  try {
    return { result: await resultOf(work) };
  } catch (error) {
    // The other thread gets a copy, in which an OutboundFailure would have neither its class nor its kind.
    return error instanceof OutboundFailure
      ? { failure: { kind: error.kind, message: error.message } }
      : { error };
  }
}

parentPort?.on('message', async (work: TextWork) => parentPort?.postMessage(await respond(work)));
