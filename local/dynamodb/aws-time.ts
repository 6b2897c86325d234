import type { DynamoFaults } from '../run-options.ts';

/**
 * Tables as they are in AWS: with its usual latencies, the conflicts of transactions that take so long, and the limits
 * of a partition.
 */
export const awsTime = {
  transactionConflicts: true,
  throttling: true,
  latency: { read: 5, write: 8, transaction: 20 },
} satisfies DynamoFaults;
