import { assumptions } from './assumptions.ts';
import { dollarsOfInvocation } from './functions.ts';
import { type OperationCalls, operations } from './operations.ts';
import { type PriceName, priceOf } from './prices.ts';

export const shares = ['front', 'gateway', 'functions', 'table', 'others', 'logs'] as const;
type Dollars = Record<(typeof shares)[number], number>;

export const totalOf = (dollars: Dollars): number =>
  Object.values(dollars).reduce((sum, one) => sum + one, 0);

/**
 * @param concurrency as of `dollarsOfInvocation`
 * @param clientRequests requests of clients to CloudFront
 */
export function dollarsOf(calls: OperationCalls, concurrency?: number, clientRequests = 1): Dollars {
  const sumOf = (counts: Readonly<Record<string, number>>, dollarsOfOne: (name: string) => number) =>
    Object.entries(counts).reduce((sum, [name, count]) => sum + count * dollarsOfOne(name), 0);
  const { invocations, readUnits, writeUnits, requests, transitions } = calls;
  const { responseBytes, logBytesPerInvocation, requestsPerTrace } = assumptions;
  // Lambda receives and deletes the message of each worker and of each purge: two requests, or fewer if it receives
  // several purges at once.
  const polls = 2 * ((invocations.ProcessBatchItems ?? 0) + (invocations.PurgeChat ?? 0));
  // The chat of a running reply is read once a second, in case a client stops it.
  const stopReads = (invocations.SendMessage ?? 0) * assumptions.modelSeconds;
  return {
    front:
      clientRequests *
      (priceOf('frontRequest') + priceOf('frontFunction') + (responseBytes / 1e9) * priceOf('frontGigabyte')),
    gateway: 'UploadServer' in invocations ? 0 : clientRequests * priceOf('gatewayRequest'),
    functions: sumOf(invocations, (name) => dollarsOfInvocation(name, concurrency)),
    table: (readUnits + stopReads) * priceOf('readUnit') + writeUnits * priceOf('writeUnit'),
    others:
      sumOf(requests, priceOfRequest) + polls * priceOf('fairRequest') + transitions * priceOf('transition'),
    logs:
      sumOf(invocations, () => (logBytesPerInvocation / 1e9) * priceOf('logGigabyte')) +
      (clientRequests / requestsPerTrace) * priceOf('trace'),
  };
}

const priceNames: Readonly<Record<string, PriceName>> = {
  sqs: 'fairRequest',
  kms: 'keyRequest',
  secretsmanager: 'secretRequest',
  's3 PUT': 'objectWrite',
  's3 GET': 'objectRead',
  's3 GET bucket?list-type': 'objectWrite',
};

/** AWS bills the transitions of Step Functions, not the calls. Deletions in S3 are free. */
function priceOfRequest(request: string): number {
  const [service = '', operation] = request.split(' ');
  if (service === 'sfn' || operation === 'DELETE') return 0;
  const name = priceNames[request] ?? priceNames[service] ?? priceNames[`${service} ${operation}`];
  if (name === undefined) throw new Error(`No price is known for ${request}`);
  return priceOf(name);
}

export function dollarsOfMessages(concurrency?: number, factor = 1): number {
  const dollars = dollarsOf(operations['send-message, streamed'], concurrency);
  return 1e6 * (totalOf(dollars) + (factor - 1) * dollars.functions);
}
