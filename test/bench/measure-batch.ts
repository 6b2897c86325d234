import { setTimeout as after } from 'node:timers/promises';
import type { LoadClient } from './load-client.ts';
import { processorMilliseconds } from './measure-replies.ts';
import { replyTo } from './reply-text.ts';

/** So long that polling costs the server little, and short enough for a batch that takes a second. */
const pollMilliseconds = 50;

/** Measures one batch from its submission to its end, and checks each of its results. */
export async function measureBatch(
  client: LoadClient,
  pid: number,
  { count, seconds }: { count: number; seconds: number },
): Promise<{ figures: Record<string, number>; errors: string[] }> {
  const requests = Array.from({ length: count }, (_, index) => ({
    custom_id: `request-${index}`,
    message: `Message of request ${index}`,
  }));
  const processor = await processorMilliseconds(pid);
  const start = performance.now();
  const since = () => (performance.now() - start) / 1000;
  const id = await client.submitBatch(requests);
  const accepted = since();
  for (;;) {
    const status = await client.batchStatus(id);
    if (status === 'completed') break;
    if (status !== 'in_progress') throw new Error(`The batch is ${status}`);
    if (since() > seconds) throw new Error(`The batch has not ended after ${seconds} s`);
    await after(pollMilliseconds);
  }
  const ended = since();
  const used = (await processorMilliseconds(pid)) - processor;
  const results = new Map((await client.readResults(id)).map((result) => [result.custom_id, result]));
  const wrong = requests.filter(
    ({ custom_id, message }) => results.get(custom_id)?.response_content !== replyTo(message),
  );
  return {
    figures: {
      'batch: accepted after, s': accepted,
      'batch: ended after, s': ended,
      'batch: requests a second': count / ended,
      'batch: correct results': count - wrong.length,
      'batch: processor time a request, ms': used / count,
    },
    errors: wrong
      .slice(0, 3)
      .map(({ custom_id }) => `${custom_id} ended as ${JSON.stringify(results.get(custom_id))}`),
  };
}
