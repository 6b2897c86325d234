import { BroadcastChannel } from 'node:worker_threads';
import { type ProviderError, providerErrorsChannel } from '#runtime/observability/provider-errors.ts';

const minute = 60_000;

/**
 * A batch may get a thousand errors, so each status is shown at most once a minute.
 * @returns a function that ends it
 */
export function showProviderErrors(
  show: (line: string) => void,
  now: () => number = () => performance.now(),
): () => void {
  const shownAt = new Map<number, number>();
  const channel = new BroadcastChannel(providerErrorsChannel);
  channel.onmessage = ({ data }) => {
    const { status, text } = data as ProviderError;
    if (now() - (shownAt.get(status) ?? Number.NEGATIVE_INFINITY) < minute) return;
    shownAt.set(status, now());
    show(`The model provider responded with status ${status}: ${text}`);
  };
  return () => channel.close();
}
