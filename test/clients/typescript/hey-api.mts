import { agentId, apiKey, baseUrl, chatId, expect } from './connection.mts';
import { client } from './hey-api/client.gen';
import * as api from './hey-api/sdk.gen';
import type { StreamEvent } from './hey-api/types.gen';

client.setConfig({ baseUrl, auth: apiKey, throwOnError: true });
const options = { throwOnError: true } as const;

const { data: agents } = await api.listPublishedAgents(options);
expect('agent', agents.data[0]?.id, agentId);

const { data: chat } = await api.createChat({ ...options, body: { name: 'Types', agent_id: agentId } });
expect('chat', chat.error_code, 0);

const file = new File(['one,two\n'], 'numbers.csv', { type: 'text/csv' });
const { data: uploaded } = await api.uploadFile({ ...options, body: { file, data: { scope: 'ephemeral' } } });
expect('upload', uploaded.data.scope, 'ephemeral');

const path = { chat_id: chat.data.id };
const { data: reply } = await api.sendMessage({
  ...options,
  path,
  body: { message: 'Hello', stream: false, agent_id: agentId, attached_file_uuids: [uploaded.data.uuid] },
});
expect('plain reply', typeof reply.data, 'string');

// The default is a stream: its events have types.
const { stream } = await client.sse.post<Record<200, StreamEvent>>({
  security: [{ name: 'x-api-key', type: 'apiKey' }],
  url: '/chats/{chat_id}/messages',
  path,
  headers: { 'Content-Type': 'application/json' },
  body: { message: 'Once more', agent_id: agentId, resumable: true },
});
let text = '';
let complete = '';
let responseId = '';
for await (const event of stream) {
  if (typeof event === 'string') break; // [DONE]
  if (event.type === 'response.created') responseId = event.response_id;
  if (event.type === 'response.output_text.delta') text += event.delta;
  if (event.type === 'response.output_text.completed') complete = event.final_text;
}
expect('stream', text !== '' && text === complete, true);

const resumed = await api.resumeStream({ path, query: { response_id: responseId, starting_after: 0 } });
let number = 0;
for await (const event of resumed.stream) {
  if (typeof event === 'string') break;
  number = event.sequence_number;
}
expect('resumed stream', number > 1, true);

const large = { chat_id: chatId };
await api.sendMessage({ ...options, path: large, body: { message: 'Hi', stream: false, agent_id: agentId } });
const { data: history } = await api.listMessages({
  ...options,
  path: large,
  query: { external_user_id: 'ann' },
});
const message_id = history.data[1]?.id ?? 0;
expect('message id past 2^31', message_id > 2 ** 31, true);
const { data: rated } = await api.recordFeedback({
  ...options,
  path: { ...large, message_id },
  body: { external_user_id: 'ann', type: 'sys_helpful' },
});
expect('feedback', rated.message, 'Feedback created');

const { data: batch } = await api.createBatch({
  ...options,
  body: { agent_id: agentId, requests: [{ custom_id: 'one', message: 'Hello' }] },
});
const batchPath = { batch_id: batch.data.id };
for (;;) {
  const { data: current } = await api.getBatch({ ...options, path: batchPath });
  if (current.data.status === 'completed') break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { data: results } = await api.listBatchResults({ ...options, path: batchPath });
expect('batch', results.data[0]?.status, 'success');

const cancelled = await api.cancelBatch({ path: batchPath, throwOnError: false });
expect('error of an ended batch', cancelled.error?.error_code, 10006);
const missing = await api.getChat({ path: { chat_id: 999_999_999 }, throwOnError: false });
expect(
  'error',
  `${missing.response?.status}/${missing.error?.error_code} ${missing.error?.message}`,
  '404/10003 Chat not found',
);
