import type { Batch, BatchResult, ChatBatchClient } from '#lib/client/index.ts';
import { exitCodes } from '../failures.ts';
import { countOf, formatCount } from './progress-line.ts';
import { readResults } from './read-results.ts';
import type { Result } from './report.ts';

export class Outcome {
  total = 0;
  succeeded = 0;
  failed = 0;
  readonly #reasons = new Map<string, Reason>();

  add({ status, error_code, error_message }: BatchResult): void {
    if (status === 'success') this.succeeded += 1;
    if (status !== 'failed') return;
    this.failed += 1;
    const key = `${error_code} ${error_message}`;
    const reason = this.#reasons.get(key) ?? { error_code, error_message, requests: 0 };
    reason.requests += 1;
    this.#reasons.set(key, reason);
  }

  get reasons(): Reason[] {
    return [...this.#reasons.values()].sort((one, other) => other.requests - one.requests);
  }

  get exitCode(): number {
    if (this.succeeded === this.total) return 0;
    return this.failed === this.total ? exitCodes.allFailed : exitCodes.someFailed;
  }
}

type Reason = Pick<BatchResult, 'error_code' | 'error_message'> & { requests: number };

/** @param retried the ids of batches whose failed requests a later round has: their failures do not count */
export async function outcomeOf(
  client: ChatBatchClient,
  batches: readonly Batch[],
  log: (line: string) => void,
  retried: ReadonlySet<string> = new Set(),
): Promise<Outcome> {
  const last = batches.filter(({ id }) => !retried.has(id));
  const { completed } = countRequests(batches);
  const { total, completed: completedLast } = countRequests(last);
  const outcome = new Outcome();
  outcome.total = total + completed - completedLast;
  outcome.succeeded = completed;
  for (const batch of last)
    if (batch.failed_requests > 0)
      for await (const result of readResults(client, batch, { status: 'failed', log })) outcome.add(result);
  return outcome;
}

export function countRequests(batches: readonly Batch[]) {
  const sum = (count: (batch: Batch) => number): number =>
    batches.reduce((total, batch) => total + count(batch), 0);
  const completed = sum(({ completed_requests }) => completed_requests);
  const failed = sum(({ failed_requests }) => failed_requests);
  return { completed, failed, ended: completed + failed, total: sum(({ total_requests }) => total_requests) };
}

const reasonsShown = 10;

const describeReason = ({ requests, error_code, error_message }: Reason): string =>
  `  ${formatCount(requests)} × ${error_code} ${error_message}`;

export function outcomeResult({ total, succeeded, failed, reasons }: Outcome): Result {
  const others = reasons.slice(reasonsShown).reduce((sum, { requests }) => sum + requests, 0);
  const open = total - succeeded - failed;
  const counts = [
    `${formatCount(succeeded)} of ${countOf(total, 'request')} succeeded`,
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(open > 0 ? [`${formatCount(open)} without a result yet`] : []),
  ];
  return {
    json: { requests: total, succeeded, failed, reasons },
    lines: [
      counts.join(', '),
      ...reasons.slice(0, reasonsShown).map(describeReason),
      ...(others > 0 ? [`  ${formatCount(others)} × ${reasons.length - reasonsShown} other reasons`] : []),
    ],
  };
}
