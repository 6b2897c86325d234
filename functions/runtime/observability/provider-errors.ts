import { BroadcastChannel } from 'node:worker_threads';
import type { RejectedCall } from '#agents/retrying-model.ts';

/** A local run listens, to show such errors on its terminal. In AWS nothing listens. */
export const providerErrorsChannel = 'provider-errors';

/** The text may quote a prompt or a key, so it must not be logged. */
export interface ProviderError {
  status: number;
  text: string;
}

const shownCharacters = 300;

export function sendProviderError({ statusCode = 0, responseBody = '' }: RejectedCall): void {
  if (statusCode < 400 || statusCode > 499) return;
  // An open channel would receive the errors of other functions.
  const channel = new BroadcastChannel(providerErrorsChannel);
  channel.postMessage({
    status: statusCode,
    text: responseBody.slice(0, shownCharacters),
  } satisfies ProviderError);
  channel.close();
}
