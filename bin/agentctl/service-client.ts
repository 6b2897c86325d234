import {
  ApiError,
  AuthenticationError,
  ChatBatchClient,
  type ClientOptions,
  ConnectionError,
  ReplyFailedError,
  StreamInterruptedError,
} from '#lib/client/index.ts';
import { describeFailure } from '../failures.ts';
import { connectionFailureOf } from './connection-failures.ts';
import type { ServiceAddress } from './service-address.ts';

/**
 * For an attempt. The gateway ends a buffered route after 29 s; the rest is for the transfer of 6 MB over a slow
 * connection.
 */
const responseTimeoutSeconds = 120;

/** @param log gets a line for each retry, and for each resume of a stream */
export const openClient = (
  { baseUrl, key }: ServiceAddress,
  log: (line: string) => void,
  options: Pick<ClientOptions, 'externalUserId' | 'maxRetries' | 'waitForRateLimit'>,
): ChatBatchClient =>
  new ChatBatchClient({
    baseUrl,
    apiKey: key,
    timeout: responseTimeoutSeconds * 1000,
    onRetry: (error, milliseconds) => log(describeRetry(error, milliseconds)),
    ...options,
  });

const describeRetry = (error: unknown, milliseconds: number): string =>
  error instanceof StreamInterruptedError
    ? 'The connection was lost; resuming the reply'
    : `${describeServiceFailure(error, 'without a remedy')}; trying again in ${(milliseconds / 1000).toFixed(1)} s`;

/** @param form leaves out what to do about a failed connection */
export function describeServiceFailure(error: unknown, form?: 'without a remedy'): string {
  if (error instanceof StreamInterruptedError)
    return `${error.message}; the service completes the reply and stores it in the history`;
  if (error instanceof ConnectionError) return describeConnectionError(error, form === undefined);
  if (!(error instanceof ApiError || error instanceof ReplyFailedError)) return describeFailure(error);
  const { message, errorCode } = error;
  const remedy = error instanceof AuthenticationError ? ': check --key, or AGENT_SERVICE_KEY' : '';
  return errorCode === undefined ? message : `${message} (code ${errorCode})${remedy}`;
}

function describeConnectionError(
  { message, cause, mayBeProcessed }: ConnectionError,
  hasRemedy: boolean,
): string {
  const systemError = (cause as Error | undefined)?.cause;
  const failure = systemError instanceof Error ? connectionFailureOf(systemError) : undefined;
  if (failure === undefined) return message;
  const { address, reason, remedy = 'Check --base-url, and that the service runs' } = failure;
  const isOpened = mayBeProcessed && failure.remedy === undefined;
  const [what, todo] = isOpened
    ? ['The connection to the service was lost', 'Run the command again']
    : [`The service cannot be reached at ${address}`, remedy];
  return `${what}: ${reason}${hasRemedy ? `. ${todo}` : ''}`;
}
