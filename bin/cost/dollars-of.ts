import { logBytesPerInvocation, responseBytes, tracedShare } from './assumptions.ts';
import { dollarsOfInvocation } from './functions.ts';
import type { OperationCalls } from './operations.ts';
import { type PriceName, priceOf } from './prices.ts';

export type Share = 'front' | 'gateway' | 'functions' | 'table' | 'others' | 'logs';
export type Dollars = Record<Share, number>;

export const totalOf = (dollars: Dollars): number =>
  Object.values(dollars).reduce((sum, one) => sum + one, 0);

/**
 * The cost of one operation.
 * @param requests requests of clients to CloudFront, and how many of them CloudFront sends to the gateway
 * @param concurrency the concurrency of the web function; without it, Lambda functions serve all routes
 */
export function dollarsOf(
  calls: OperationCalls,
  requests = { front: 1, gateway: 1 },
  concurrency?: number,
): Dollars {
  const invocations = Object.entries(calls.invocations);
  const count = invocations.reduce((sum, [, each]) => sum + each, 0);
  const others = Object.entries(calls.requests).reduce(
    (sum, [request, each]) => sum + each * priceOfRequest(request),
    0,
  );
  // Lambda receives and deletes the messages of a worker: two requests each.
  const polled = 2 * (calls.invocations.ProcessBatchItems ?? 0) * priceOf('fairRequest');
  return {
    front: requests.front * (priceOf('frontRequest') + (responseBytes / 1e9) * priceOf('frontGigabyte')),
    gateway: requests.gateway * priceOf('gatewayRequest'),
    functions: invocations.reduce(
      (sum, [name, each]) => sum + each * dollarsOfInvocation(name, concurrency),
      0,
    ),
    table: calls.readUnits * priceOf('readUnit') + calls.writeUnits * priceOf('writeUnit'),
    others: others + polled + calls.transitions * priceOf('transition'),
    logs:
      ((count * logBytesPerInvocation) / 1e9) * priceOf('logGigabyte') +
      requests.front * tracedShare * priceOf('trace'),
  };
}

const priceNames: Readonly<Record<string, PriceName>> = {
  sqs: 'fairRequest',
  kms: 'keyRequest',
  secretsmanager: 'secretRequest',
};

/**
 * Calls of Step Functions are free, because AWS bills transitions. Deletions in S3 are free. Invocations are counted
 * separately.
 * @throws Error for a request without a known price
 */
function priceOfRequest(request: string): number {
  const [service = '', operation = ''] = request.split(' ');
  if (service === 's3' && operation !== 'DELETE')
    return priceOf(operation === 'GET' || operation === 'HEAD' ? 'objectRead' : 'objectWrite');
  const name = priceNames[service];
  if (name !== undefined) return priceOf(name);
  if (['s3', 'sfn', 'lambda', 'ssm'].includes(service)) return 0;
  throw new Error(`No price is known for ${request}`);
}
