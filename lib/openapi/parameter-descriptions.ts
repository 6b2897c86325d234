import { limits } from '#contract/limits.ts';
import type { RouteName } from '#contract/routes.ts';

const userOfChat = 'The user of the chat, if it has one, here or in the header x-external-user-id.';

export const parameterDescriptions: Readonly<Record<string, string>> = {
  chat_id: 'The id of the chat.',
  message_id: 'The id of the reply. It is above 2^31 in most chats: use a 64-bit integer.',
  batch_id: 'The id of the batch.',
  limit: 'The page size.',
  offset: 'How many elements to skip.',
  cursor:
    'Set by `next_page` and `prev_page`: the page goes on after, or ends before, an element of the last one, also if elements were added or deleted meanwhile. It is ignored with another `offset` than that of its link.',
  order_by: '`created_at` and `asc`: oldest first. `-created_at` and `desc`: newest first.',
  agent_id: 'The id of the agent.',
  external_user_id: userOfChat,
  'x-external-user-id': 'The user of the chat, in UTF-8, if the query does not name it.',
  'idempotency-key': `1 to ${limits.idempotencyKeyCharacters} printable ASCII characters, such as a UUID. For ${limits.idempotencyHours} hours, a repeated request with the same key is not executed again and gets the first response. Another request with that key is rejected.`,
  response_id: 'The `response_id` of the events of the reply.',
  starting_after: 'The `sequence_number` of the last event that the client has. All events without it.',
  'x-service-event-id': 'The same at every attempt.',
  'webhook-id': 'The same, of Standard Webhooks.',
  'webhook-timestamp': 'Unix seconds of the attempt, of Standard Webhooks.',
  'webhook-signature': 'The signature of Standard Webhooks, or two with a space between them; with a secret.',
  'x-service-timestamp': 'Unix seconds of the attempt; with a secret.',
  'x-service-signature': '`sha256=` and HMAC-SHA256 of timestamp, dot and body, in hex; with a secret.',
};

export const parametersOfRoute: Partial<Record<RouteName, Readonly<Record<string, string>>>> = {
  'list-chats': { agent_id: 'Only chats with this agent.', external_user_id: 'Only chats of this user.' },
  'list-messages': { external_user_id: 'Required here or in the header x-external-user-id.' },
  'resume-stream': {
    external_user_id:
      'Of the user that the chat belongs to. It may be in the header x-external-user-id instead.',
  },
  'erase-user': { external_user_id: 'The user to erase.' },
  'delete-file': { uuid: 'The `uuid` of the uploaded file.' },
  'list-batches': { status: 'Only batches with this status.' },
  'list-batch-results': { status: 'Only results with this status.' },
};
