import { parentPort, workerData } from 'node:worker_threads';
import { ExtractionFailure, type SourceDocument } from '#domain/files/files.ts';
import { extractText } from './extract-text.ts';
import type { ExtractionMessage } from './threaded-text-extractor.ts';

const respond = async (): Promise<ExtractionMessage> => {
  try {
    return { extracted: await extractText(workerData as SourceDocument) };
  } catch (error) {
    if (!(error instanceof ExtractionFailure)) throw error;
    return { failure: { kind: error.kind, message: error.message } };
  }
};
parentPort?.postMessage(await respond());
