import type { Batch } from '#lib/client/index.ts';
import { formatBatches, formatCount } from './progress-line.ts';
import type { Result } from './result.ts';
import type { Submitted } from './submit-file.ts';
import { textTable } from './text-table.ts';
import { hasEnded } from './watch-batches.ts';

/** The batches as the interface returns them, and as a table. */
export const batchesResult = (batches: readonly Batch[]): Result => ({
  json: { batches },
  lines: textTable(
    ['batch', 'status', 'completed', 'failed', 'requests', 'created'],
    batches.map((batch) => [
      batch.id,
      batch.status,
      batch.completed_requests,
      batch.failed_requests,
      batch.total_requests,
      batch.created_at,
    ]),
  ),
});

/** @param total how many batches there are, of which these are the newest */
export function batchListResult(batches: readonly Batch[], total: number): Result {
  if (batches.length === 0) return { json: { batches, total }, lines: ['No batches'] };
  const { lines } = batchesResult(batches);
  const more = total - batches.length;
  return {
    json: { batches, total },
    lines: more > 0 ? [...lines, `${formatCount(more)} more: give --limit`] : lines,
  };
}

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
      ...(batches.length === 0
        ? []
        : textTable(
            ['batch', 'from line', 'to line'],
            batches.map(({ batchId, fromLine, toLine }) => [batchId, fromLine, toLine]),
          )),
      `${file}: ${formatCount(sum)} requests in ${formatBatches(batches.length)}${note}`,
    ],
  };
}

export function downloadResult(out: string, batches: readonly Batch[], counts: readonly number[]): Result {
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
