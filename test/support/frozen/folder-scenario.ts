import { agentDefinition } from '#contract/agent.ts';
import type { BatchResource } from '#contract/batch.ts';
import type { MessageResource } from '#contract/message.ts';
import { createAgent, publishAgent, updateAgent } from '#domain/agents/agents.ts';
import { workspaces } from '#runtime/composition/services.ts';
import type { Connection } from '../../../bin/local/connection.ts';
import { useLocalTable } from '../../../bin/operator.ts';
import { requestsOf } from '../batches.ts';
import { type Client, clientOf } from '../client.ts';
import { dataTableOf } from '../data-table.ts';
import { replyWith } from '../model-server.ts';
import { dataOf } from '../open-tenant.ts';
import type { ModelCall } from '../scripted-model.ts';
import { operator } from '../service.ts';
import { createChat, send } from '../turns.ts';
import { uploaderOf } from '../upload.ts';
import type { WebhookReceiver } from '../webhook-receiver.ts';

export interface FrozenBatch {
  id: string;
  requests: ReturnType<typeof requestsOf>;
}

/** More requests than the local stage's few workers take at first. */
const requestCount = 75;
const webhookSecret = 'frozen-secret';
const userId = 'Zoë';

/** Scripts the model by the message's first word: `Hold` never finishes, `Busy` is throttled, `Wrong` fails. */
export function respondByMessage(call: ModelCall): void {
  const message = lastMessageOf(call);
  if (message.startsWith('Hold')) call.chunk('One, ');
  else if (message.startsWith('Busy')) call.fail(429);
  else if (message.startsWith('Wrong')) call.fail(400);
  else replyWith(call, message.startsWith('Much') ? 'large '.repeat(50_001) : `To: ${message}`);
}

/** The user's own text. Attached texts precede it, or are separate parts. */
function lastMessageOf({ request }: ModelCall): string {
  const content: unknown = request.messages.at(-1)?.content;
  const parts = Array.isArray(content) ? content : [{ text: content }];
  return (
    String((parts.at(-1) as { text?: unknown }).text)
      .split('\n\n')
      .at(-1) ?? ''
  );
}

/** Fills the demo workspace of a running service until its open batch has requests in every state. */
export async function fillFolder(connection: Connection, receiver: WebhookReceiver) {
  const { workspace_id: workspaceId, api_key: apiKey, base_url: baseUrl } = connection;
  useLocalTable(connection.data_table, connection.dynamodb_endpoint);
  const client = clientOf({ baseUrl }, { apiKey });
  await workspaces().update(workspaceId, { titlesEnabled: false });
  const definition = agentDefinition.parse({ name: 'Frozen agent', llm_model: 'openai:test' });
  const { id: agentId } = await createAgent(operator(), { workspaceId, definition });
  await publishAgent(operator(), agentId);

  const upload = await uploaderOf({ baseUrl }, { apiKey }).file('notes.txt', 'The bridge was built in 1932.');
  const fileUuid = String((dataOf(upload) as { uuid: string }).uuid);
  const chat = await fillChat(client, agentId, fileUuid);
  const cutChat = await createChat(client, { agentId }, { name: 'Cut off' });
  const message = 'Hold this reply';
  const stream = await client.stream(cutChat, { message, agent_id: agentId });
  const events = stream[Symbol.asyncIterator]();
  for (let seen = ''; seen !== 'response.output_text.delta'; ) {
    const { value } = await events.next();
    seen = typeof value === 'object' ? value.type : '';
  }

  const single = requestsOf(1, () => ({ message: 'Tell my receiver' }));
  const undelivered = await submit(client, agentId, single, { url: receiver.url, secret: webhookSecret });
  await receiver.called(1);
  const chained = await createChat(client, { agentId }, { name: 'Continued by a batch' });
  const links = requestsOf(3, (index) => ({
    message: index === 0 ? 'Hold the chain' : `Link ${index}`,
    history_id: chained,
  }));
  const cancelling = await submit(client, agentId, links);
  const requests = requestsOf(requestCount, (index) => ({
    message: messageAt(index),
    ...(index === 3 && { attached_file_uuids: [fileUuid] }),
  }));
  const open = await submit(client, agentId, requests);
  await untilInEveryState(connection, open);
  // From now on the built-in demo model replies, so that a run that restores the folder needs no provider.
  await updateAgent(operator(), { agentId, definition: { ...definition, llm_model: 'demo' } });
  await publishAgent(operator(), agentId);
  dataOf(await client.post(`/batches/${cancelling.id}/cancel`, {}));
  return {
    agentId,
    userId,
    webhookSecret,
    /** A chat with a history, an attached file, feedback, and a reply that is too large for one item. */
    chat,
    /** A chat whose reply was in progress when the service was killed. */
    cutChat: { id: cutChat, message },
    batches: {
      /** In progress: some requests have ended, some are running, some wait for a retry, some were never started. */
      open,
      /** Cancelled, with one request still running. */
      cancelling,
      /** Ended; the first attempt of its webhook failed, and the next one is due. */
      undelivered,
    },
  };
}

/** What a client has created in the frozen data folder. */
export type FolderContent = Awaited<ReturnType<typeof fillFolder>>;

async function fillChat(client: Client, agentId: string, fileUuid: string) {
  const id = await createChat(client, { agentId }, { name: 'Remembered', external_user_id: userId });
  for (const fields of [
    { message: 'First question', attached_file_uuids: [fileUuid] },
    { message: 'Much, please' },
  ])
    dataOf(await send(client, { agentId }, id, fields.message, { ...fields, external_user_id: userId }));
  const messages = dataOf(
    await client.get<MessageResource[]>(
      `/chats/${id}/messages?external_user_id=${encodeURIComponent(userId)}`,
    ),
  );
  dataOf(
    await client.post(`/chats/${id}/messages/${messages[1]?.id}/feedbacks`, {
      external_user_id: userId,
      type: 'sys_improve',
      content: 'Shorter',
    }),
  );
  return {
    id,
    fileUuid,
    // Of the long message, the first 100 characters are enough.
    messages: messages.map(({ id, role, content }) => ({ id, role, content: content.slice(0, 100) })),
  };
}

/** Most requests never finish, and fill their worker, which then takes no others. */
const messageAt = (index: number): string => {
  if (index === 1) return `Busy ${index}`;
  if (index === 2) return `Wrong ${index}`;
  return index % 20 === 3 ? `Message ${index}` : `Hold ${index}`;
};

async function submit(
  client: Client,
  agentId: string,
  requests: FrozenBatch['requests'],
  webhook?: { url: string; secret: string },
): Promise<FrozenBatch> {
  const body = { agent_id: agentId, requests, ...(webhook && { webhook }) };
  const { id } = dataOf(
    await client.post<BatchResource>('/batches', body, {
      headers: { 'Idempotency-Key': requests[0]?.message ?? '' },
    }),
  );
  return { id, requests };
}

/**
 * Waits until some requests have succeeded, some have failed, some wait for a retry, some run, and some were never
 * started.
 */
async function untilInEveryState(
  connection: Pick<Connection, 'data_table' | 'dynamodb_endpoint' | 'workspace_id'>,
  batch: FrozenBatch,
): Promise<void> {
  const table = dataTableOf({
    run: {
      outputs: { DataTableName: connection.data_table },
      endpoints: { dynamodb: connection.dynamodb_endpoint },
    },
  });
  const deadline = Date.now() + 60_000;
  for (;;) {
    const items = await table.readAll();
    const statuses = items
      .filter(({ pk }) => String(pk).startsWith(`W#${connection.workspace_id}#B#${batch.id}#I#`))
      .map(({ status }) => String(status));
    const countOf = (status: string): number => statuses.filter((each) => each === status).length;
    const counts = ['success', 'failed', 'waiting', 'processing'].map(countOf);
    if (counts.every((count) => count > 0) && statuses.length < batch.requests.length) {
      console.log(`success, failed, waiting, processing: ${counts.join(', ')} of ${batch.requests.length}`);
      break;
    }
    if (Date.now() > deadline)
      throw new Error(`The requests did not reach every state: ${counts.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  table.close();
}
