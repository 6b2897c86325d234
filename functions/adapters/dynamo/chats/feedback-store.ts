import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { FeedbackType } from '#contract/feedback.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { FeedbackStore } from '#domain/chats/feedback-store.ts';

/** Enough for a hundred users who rate one message at the same time. */
const attempts = 200;

export const dynamoFeedbackStore = (table: Table): FeedbackStore => ({
  record: (chat, position, feedback) =>
    transactWithRetry(table, {
      attempts,
      plan: async () => {
        const key = keys.feedback(chat.workspaceId, chat.id, position, feedback.externalUserId);
        const previous = (await table.get(key))?.type as FeedbackType | undefined;
        return {
          writes: (TableName) => [
            {
              ConditionCheck: {
                TableName,
                Key: keys.chat(chat.workspaceId, chat.id),
                ConditionExpression: 'attribute_exists(agent_id)',
              },
            },
            { Put: { TableName, ...putOf(key, feedback, previous) } },
            ...(previous === feedback.type
              ? []
              : [{ Update: { TableName, ...countOf(chat, position, feedback, previous) } }]),
          ],
          result: true,
        };
      },
      onConditionFailed: ([isDeleted]) => (isDeleted === true ? { result: false } : undefined),
    }),
});

type Feedback = Parameters<FeedbackStore['record']>[2];

/** Replaces the feedback that was read; the condition fails if it has changed since. */
const putOf = (key: Key, feedback: Feedback, previous: FeedbackType | undefined) => ({
  Item: {
    ...key,
    type: feedback.type,
    ...(feedback.content !== null && { content: feedback.content }),
    created_at: feedback.createdAt,
  },
  ...(previous === undefined
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : {
        ConditionExpression: '#type = :previous',
        ExpressionAttributeNames: { '#type': 'type' },
        ExpressionAttributeValues: { ':previous': previous },
      }),
});

const countOf = (chat: Chat, position: number, { type }: Feedback, previous: FeedbackType | undefined) => ({
  Key: keys.feedbackCounts(chat.workspaceId, chat.id, position),
  UpdateExpression: `ADD #type :one${previous === undefined ? '' : ', #previous :minusOne'}`,
  ExpressionAttributeNames: { '#type': type, ...(previous !== undefined && { '#previous': previous }) },
  ExpressionAttributeValues: { ':one': 1, ...(previous !== undefined && { ':minusOne': -1 }) },
});
