import { textWorker } from '#adapters/text-thread/text-worker.ts';

const thread = new URL('../../functions/adapters/text-thread/text-thread.ts', import.meta.url);

/** A worker of texts, with the code of the project in place of a bundle. */
export const sampleTextWorker = (megabytes?: number) => textWorker(thread, megabytes);
