import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Write } from '#adapters/dynamo/table/table.ts';

/** @param most the condition fails if there are so many already */
export const openBatchesUpdate = (workspaceId: string, added: 1 | -1, most: number | null): Write => ({
  Update: {
    Key: keys.openBatches(workspaceId),
    UpdateExpression: 'ADD n :added',
    ...(most !== null && { ConditionExpression: 'attribute_not_exists(n) OR n < :most' }),
    ExpressionAttributeValues: { ':added': added, ...(most !== null && { ':most': most }) },
  },
});
