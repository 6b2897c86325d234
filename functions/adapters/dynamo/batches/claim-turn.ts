import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { Clock } from '#domain/platform/clock.ts';

/** Milliseconds. A claim takes some 30 ms, and more while tables are slow. The turn of a dead worker ends after it. */
const longestTurn = 1000;

/** Milliseconds between two attempts, on average half of it. A claim takes about as long. */
const longestPause = 40;

/** Some four seconds: twenty workers that start together have all had their turns by then. */
const attemptsToHaveTurn = 150;

/**
 * Executes a claim while no other worker of the workspace does. Claims that create chats change the same items, so only
 * one of several concurrent ones succeeds, and each of the others pays about 80 write units for nothing. To wait for a
 * turn costs one unit each time. The turn only saves these costs: a claim without it, after a long wait, is correct.
 */
export async function inClaimTurn<Result>(
  table: Table,
  clock: Clock,
  workspaceId: string,
  claim: () => Promise<Result>,
): Promise<Result> {
  const Key = keys.claimTurn(workspaceId);
  for (let attempt = 1; attempt <= attemptsToHaveTurn; attempt += 1) {
    if (await startTurn(table, clock, Key)) break;
    await table.pauseUpTo(longestPause);
  }
  const result = await claim();
  await table.update({
    Key,
    UpdateExpression: 'SET turn_ends = :never',
    ExpressionAttributeValues: { ':never': 0 },
  });
  return result;
}

async function startTurn(table: Table, clock: Clock, Key: { pk: string; sk: string }): Promise<boolean> {
  const now = clock.now().getTime();
  try {
    await table.update({
      Key,
      UpdateExpression: 'SET turn_ends = :end',
      ConditionExpression: 'attribute_not_exists(turn_ends) OR turn_ends < :now',
      ExpressionAttributeValues: { ':end': now + longestTurn, ':now': now },
    });
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}
