import type { ChatBatchClient } from '#lib/client/index.ts';
import type { Input } from './input-records.ts';
import { selectRecords, skip } from './read-portions.ts';
import { readResults } from './read-results.ts';
import { type SubmissionState, submittedRequests } from './submission-journal.ts';
import type { BatchWatch } from './watch-batches.ts';

export function isRetrying({ rounds }: SubmissionState, { open }: BatchWatch): boolean {
  const last = rounds.at(-1);
  if (last?.lines === undefined) return false;
  const isOpen = last.accepted.some(({ batchId }) => open.some(({ id }) => id === batchId));
  return isOpen || submittedRequests(last) < last.lines.length;
}

/**
 * @param watch must have read the batches of `state`: the failures of a batch that it has not read are left out
 * @returns the lines in ascending order
 * @throws Error such as for changed lines, or for a result that is missing or not that of a submitted line
 */
export async function findFailedLines(
  client: ChatBatchClient,
  input: Input,
  state: SubmissionState,
  watch: BatchWatch,
  log: (line: string) => void,
): Promise<number[]> {
  const batchOf = new Map(watch.batches.map((batch) => [batch.id, batch]));
  const failed: number[] = [];
  for (const { lines, accepted } of state.rounds) {
    const records = selectRecords(input, lines);
    for (const range of accepted) {
      const lineOf = new Map<string, number>();
      await skip(input, records, range, ({ line, request }) => lineOf.set(request.custom_id, line));
      const batch = batchOf.get(range.batchId);
      if (range.isRetried || batch === undefined || batch.failed_requests === 0) continue;
      for await (const { custom_id } of readResults(client, batch, { status: 'failed', log })) {
        const line = lineOf.get(custom_id);
        if (line === undefined) throw new Error(`${batch.id}: no line has the custom_id ${custom_id}`);
        failed.push(line);
      }
    }
  }
  return failed.sort((one, other) => one - other);
}
