import createClient from 'openapi-fetch';
import { agentId, apiKey, baseUrl, chatId, expect } from './connection.mts';
import type { paths } from './openapi-typescript/schema';

const client = createClient<paths>({ baseUrl, headers: { 'x-api-key': apiKey } });

const { data: chat } = await client.POST('/chats', { body: { name: 'Fetch', agent_id: agentId } });
if (chat === undefined) throw new Error('No chat');
const params = { path: { chat_id: chat.data.id } };

const { data: reply } = await client.POST('/chats/{chat_id}/messages', {
  params,
  body: { message: 'Hello', stream: false, agent_id: agentId },
});
// The other response of this operation is an event.
expect('plain reply', reply !== undefined && 'data' in reply && typeof reply.data, 'string');

const { data: uploaded } = await client.POST('/chats/upload-file', {
  // The type of a binary part is text: the serializer sends the file.
  body: { file: '', data: { scope: 'persistent' } },
  bodySerializer: ({ data }) => {
    const form = new FormData();
    form.set('data', JSON.stringify(data));
    form.set('file', new File(['Text'], 'a.txt', { type: 'text/plain' }));
    return form;
  },
});
expect('upload', uploaded?.data.original_name, 'a.txt');

const path = { chat_id: chatId };
await client.POST('/chats/{chat_id}/messages', {
  params: { path },
  body: { message: 'Hi', stream: false, agent_id: agentId },
});
const { data: history } = await client.GET('/chats/{chat_id}/messages', {
  params: { path, query: { external_user_id: 'ann', order_by: 'desc' } },
});
const { data: rated } = await client.POST('/chats/{chat_id}/messages/{message_id}/feedbacks', {
  params: { path: { ...path, message_id: history?.data[0]?.id ?? 0 } },
  body: { external_user_id: 'ann', type: 'sys_improve', content: 'Shorter' },
});
expect('feedback', rated?.message, 'Feedback created');

const { data: batch } = await client.POST('/batches', {
  body: { agent_id: agentId, requests: [{ custom_id: 'one', message: 'Hello' }] },
});
expect('batch', batch?.data.total_requests, 1);

const { error, response } = await client.GET('/chats/{chat_id}', {
  params: { path: { chat_id: 999_999_999 } },
});
expect('error', `${response.status}/${error?.error_code}`, '404/10003');
