import type { Batch } from '#lib/client/index.ts';
import type { InputSize } from './check-input.ts';
import { countOf, formatCount } from './progress-line.ts';
import type { Result } from './report.ts';
import { type Accepted, type SubmissionState, submittedRequests } from './submission-journal.ts';
import { tableWith } from './text-table.ts';
import { hasEnded } from './watch-batches.ts';

export const batchesResult = (batches: readonly Batch[]): Result => ({
  json: { batches },
  lines: batchTable(batches),
});

const batchTable = tableWith<Batch>({
  batch: ({ id }) => id,
  status: ({ status }) => status,
  completed: ({ completed_requests }) => completed_requests,
  failed: ({ failed_requests }) => failed_requests,
  requests: ({ total_requests }) => total_requests,
  created: ({ created_at }) => created_at,
});

/** @param total how many batches match in all, of which these are the newest */
export function batchListResult(batches: readonly Batch[], total: number): Result {
  const lines = batchTable(batches, 'No batches');
  const more = total - batches.length;
  if (batches.length > 0 && more > 0) lines.push(`${formatCount(more)} more: give --limit`);
  return { json: { batches, total }, lines };
}

export function submissionResult(file: string, state: SubmissionState, submittedBefore: number): Result {
  const batches = state.rounds[0]?.accepted ?? [];
  const sum = submittedRequests(state.rounds[0]);
  const counted = `${countOf(sum, 'request')} in ${countOf(batches.length, 'batch', 'batches')}`;
  const note = submittedBefore > 0 ? `, ${formatCount(submittedBefore)} of them by earlier runs` : '';
  return {
    json: { file, requests: sum, submitted: batches.map(acceptedJson), earlier_batches: submittedBefore },
    lines: [...acceptedLines(batches), `${file}: ${counted}${note}`],
  };
}

export function retryResult(file: string, { rounds }: SubmissionState, submittedBefore: number): Result {
  const last = rounds.at(-1);
  const previous = rounds.slice(0, -1).reduce((sum, { accepted }) => sum + accepted.length, 0);
  const isNew = last?.lines !== undefined && previous + last.accepted.length > submittedBefore;
  const batches = isNew ? last.accepted : [];
  const sum = batches.reduce((total, { requests }) => total + requests, 0);
  const counted = countOf(batches.length, 'batch', 'batches');
  const submitted = `${countOf(sum, 'failed request')} submitted again in ${counted}`;
  return {
    json: { file, retried: sum, submitted: batches.map(acceptedJson) },
    lines: [...acceptedLines(batches), `${file}: ${isNew ? submitted : 'nothing to submit again'}`],
  };
}

const acceptedJson = ({ batchId, fromLine, toLine, requests }: Accepted) => ({
  batch_id: batchId,
  from_line: fromLine,
  to_line: toLine,
  requests,
});

const acceptedTable = tableWith<Accepted>({
  batch: ({ batchId }) => batchId,
  'from line': ({ fromLine }) => fromLine,
  'to line': ({ toLine }) => toLine,
});

const acceptedLines = (batches: readonly Accepted[]): string[] =>
  batches.length === 0 ? [] : acceptedTable(batches);

export function checkResult(
  file: string,
  { requests, batches, characters }: InputSize,
  accepted: readonly Accepted[],
): Result {
  const before = accepted.reduce((sum, batch) => sum + batch.requests, 0);
  return {
    json: { file, requests, batches, characters, submitted_before: before },
    lines: [
      `${file}: ${countOf(requests, 'request')} in ${countOf(batches, 'batch', 'batches')}, with ${formatCount(characters)} characters of messages`,
      ...(before > 0 ? [`${countOf(before, 'other request')} submitted by earlier runs`] : []),
      'Nothing was sent',
    ],
  };
}

export const mergeResults = (...results: readonly Result[]): Result => ({
  json: Object.assign({}, ...results.map(({ json }) => json)),
  lines: results.flatMap(({ lines }) => lines),
});

export function downloadResult(out: string, batches: readonly Batch[], counts: readonly number[]): Result {
  const written = batches.map(({ id, status }, index) => ({ id, status, results: counts[index] ?? 0 }));
  const sum = counts.reduce((total, count) => total + count, 0);
  return {
    json: { file: out, results: sum, batches: written },
    lines: [
      ...batches
        .filter((batch) => !hasEnded(batch))
        .map(({ id, status }) => `${id} is ${status}: the file has only its results so far`),
      `${out}: ${countOf(sum, 'result')}`,
    ],
  };
}
