import type { BatchResource } from '#contract/batch.ts';
import { formatBatches, formatCount } from './progress-line.ts';
import type { Result } from './result.ts';
import type { Submitted } from './submit-file.ts';
import { hasEnded } from './watch-batches.ts';

/** The batches as the interface returns them; one text line for each. */
export const batchesResult = (batches: readonly BatchResource[]): Result => ({
  json: { batches },
  lines: batches.map((batch) =>
    [
      batch.id,
      batch.status.padEnd(11),
      `${batch.completed_requests} completed`,
      `${batch.failed_requests} failed`,
      `of ${batch.total_requests}`,
      `created ${batch.created_at}`,
    ].join('  '),
  ),
});

export function submissionResult(file: string, { batches, submittedBefore }: Submitted): Result {
  const sum = batches.reduce((total, { requests }) => total + requests, 0);
  const note = submittedBefore > 0 ? `, ${formatCount(submittedBefore)} of them by earlier runs` : '';
  return {
    json: {
      file,
      requests: sum,
      submitted: batches.map(({ batchId, fromLine, toLine, requests }) => ({
        batch_id: batchId,
        from_line: fromLine,
        to_line: toLine,
        requests,
      })),
      earlier_batches: submittedBefore,
    },
    lines: [
      ...batches.map(({ batchId, fromLine, toLine }) => `${batchId}  lines ${fromLine} to ${toLine}`),
      `${file}: ${formatCount(sum)} requests in ${formatBatches(batches.length)}${note}`,
    ],
  };
}

export function downloadResult(
  out: string,
  batches: readonly BatchResource[],
  counts: readonly number[],
): Result {
  const written = batches.map(({ id, status }, index) => ({
    batch_id: id,
    status,
    results: counts[index] ?? 0,
  }));
  const sum = counts.reduce((total, count) => total + count, 0);
  return {
    json: { file: out, results: sum, batches: written },
    lines: [
      ...batches
        .filter((batch) => !hasEnded(batch))
        .map(({ id, status }) => `${id} is ${status}: the file has only its results so far`),
      `${out}: ${formatCount(sum)} results`,
    ],
  };
}
