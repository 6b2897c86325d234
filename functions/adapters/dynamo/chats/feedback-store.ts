import { backOff } from '#adapters/dynamo/table/back-off.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { isConflict, type Table, type Write } from '#adapters/dynamo/table/table.ts';
import type { FeedbackStore } from '#domain/chats/feedback-store.ts';

/** Enough for a hundred users who rate one message in the same moment. */
const attempts = 200;

export function dynamoFeedbackStore(table: Table): FeedbackStore {
  return {
    async record(chat, position, feedback) {
      const key = keys.feedback(chat.workspaceId, chat.id, position, feedback.externalUserId);
      const countsKey = keys.feedbackCounts(chat.workspaceId, chat.id, position);
      for (let attempt = 1; ; attempt += 1) {
        const previous = (await table.get(key))?.type as string | undefined;
        const put = (TableName: string): Write => ({
          Put: {
            TableName,
            Item: {
              ...key,
              type: feedback.type,
              ...(feedback.content !== null && { content: feedback.content }),
              created_at: feedback.createdAt,
            },
            ...(previous === undefined
              ? { ConditionExpression: 'attribute_not_exists(pk)' }
              : {
                  ConditionExpression: '#type = :earlier',
                  ExpressionAttributeNames: { '#type': 'type' },
                  ExpressionAttributeValues: { ':earlier': previous },
                }),
          },
        });
        try {
          await table.transact((TableName) =>
            previous === feedback.type
              ? [put(TableName)]
              : [
                  put(TableName),
                  {
                    Update: {
                      TableName,
                      Key: countsKey,
                      UpdateExpression: `ADD #type :one${previous === undefined ? '' : ', #earlier :minusOne'}`,
                      ExpressionAttributeNames: {
                        '#type': feedback.type,
                        ...(previous !== undefined && { '#earlier': previous }),
                      },
                      ExpressionAttributeValues: {
                        ':one': 1,
                        ...(previous !== undefined && { ':minusOne': -1 }),
                      },
                    },
                  },
                ],
          );
          return;
        } catch (error) {
          if (!isConflict(error) || attempt === attempts) throw error;
        }
        await backOff(attempt);
      }
    },
  };
}
