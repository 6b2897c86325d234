import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import { adding } from '#adapters/dynamo/table/lists.ts';
import { fieldsOf, type Item, ifStill, startingWith, type Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import type { FeedbackType } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { Feedback, FeedbackOfUser, FeedbackStore } from '#domain/chats/services.ts';

/** Many users may rate one message at the same time. */
const attempts = 200;

export const dynamoFeedbackStore = (table: Table): FeedbackStore => ({
  record: (chat, position, feedback) =>
    transactWithRetry(table, {
      attempts,
      plan: async () => {
        const key = keys.feedback(chat.workspaceId, chat.id, position, feedback.externalUserId);
        const previous = (await table.get(key))?.type as FeedbackType | undefined;
        return {
          writes: [
            {
              ConditionCheck: {
                Key: keys.chat(chat.workspaceId, chat.id),
                ConditionExpression: 'attribute_exists(agent_id)',
              },
            },
            { Put: putOf(key, feedback, previous) },
            ...(previous === feedback.type
              ? []
              : [{ Update: countOf(chat, position, feedback.type, previous) }]),
            ...(chat.externalUserId === null ? [{ Put: { Item: userEntry(chat, position, feedback) } }] : []),
          ],
          result: true,
        };
      },
      onConditionFailed: ([isDeleted]) => (isDeleted === true ? { result: false } : undefined),
    }),

  async *ofUser({ workspaceId, externalUserId }) {
    const ratings = { ...keys.userRating(workspaceId, externalUserId, 0, 0), sk: 'RATING#' };
    for await (const page of table.queryPages(startingWith(ratings)))
      yield page.map((item) => fieldsOf<FeedbackOfUser>(item));
  },

  remove: (chat, position, externalUserId) =>
    transactWithRetry(table, {
      attempts,
      plan: async () => {
        const { workspaceId, id } = chat;
        const Key = keys.feedback(workspaceId, id, position, externalUserId);
        const previous = (await table.get(Key))?.type as FeedbackType | undefined;
        return {
          writes: [
            { Delete: { Key: keys.userRating(workspaceId, externalUserId, id, position) } },
            ...(previous === undefined
              ? []
              : [
                  { Delete: { Key, ...ifStill({ type: previous }) } },
                  { Update: countOf(chat, position, undefined, previous) },
                ]),
          ],
          result: undefined,
        };
      },
    }),
});

/** By this entry, an erasure of the user who gave the feedback finds it. */
const userEntry = ({ workspaceId, id }: Chat, position: number, feedback: Feedback): Item => ({
  ...keys.userRating(workspaceId, feedback.externalUserId, id, position),
  chat_id: id,
  position,
  created_at: feedback.createdAt,
});

const putOf = (key: Key, feedback: Feedback, previous: FeedbackType | undefined) => ({
  Item: {
    ...key,
    type: feedback.type,
    ...(feedback.content !== null && { content: feedback.content }),
    created_at: feedback.createdAt,
  },
  ...ifStill({ type: previous }),
});

function countOf(
  { workspaceId, id }: Pick<Chat, 'workspaceId' | 'id'>,
  position: number,
  type: FeedbackType | undefined,
  previous: FeedbackType | undefined,
) {
  const added = adding([
    ...(type === undefined ? [] : [[type, 1] as const]),
    ...(previous === undefined ? [] : [[previous, -1] as const]),
  ]);
  return { Key: keys.feedbackCounts(workspaceId, id, position), ...added };
}
