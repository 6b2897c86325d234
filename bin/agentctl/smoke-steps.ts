import { setTimeout as pause } from 'node:timers/promises';
import { AuthenticationError, type ChatBatchClient } from '#lib/client/index.ts';
import { hasEnded } from './watch-batches.ts';

export interface Finding {
  requestId: string | undefined;
  problem?: string | false;
}

export interface SmokeClients {
  client: ChatBatchClient;
  stranger: ChatBatchClient;
  /** The body of the last response to one of the clients, as far as it was read. */
  lastBody(): string;
  agentId: string;
}

const batchSeconds = 120;

const message = 'What can you do?';

/** In their order: a step may use what the ones before it have made. */
export function smokeSteps({ client, stranger, agentId, lastBody }: SmokeClients) {
  let chatId: number | undefined;
  const chat = () => chatId ?? 0;
  const deleteChat = () => client.chats.delete(chat()).withResponse();
  const steps: Record<string, () => Promise<Finding>> = {
    'an unknown key is rejected': () => rejectStranger(stranger),
    'agents are listed': async () => {
      const { data, requestId } = await client.agents.list().withResponse();
      return { requestId, problem: data.every(({ id }) => id !== agentId) && 'the agent is missing' };
    },
    'a chat is created': async () => {
      const input = { name: 'Smoke test', agent_id: agentId };
      const { data, requestId } = await client.chats.create(input).withResponse();
      chatId = data.id;
      return { requestId };
    },
    'a reply is streamed': async () => {
      const stream = client.messages.stream(chat(), { message, agent_id: agentId });
      const { text } = await stream.finalMessage();
      // Once a reply is complete, the client library does not need the end of its stream.
      const hasEnd = lastBody().trimEnd().endsWith('data: [DONE]');
      const problem = text === '' ? 'the reply is empty' : !hasEnd && 'the stream has no [DONE]';
      return { requestId: stream.requestId, problem };
    },
    'a reply is sent as JSON': async () => {
      const input = { message, agent_id: agentId };
      const { data, requestId } = await client.messages.send(chat(), input).withResponse();
      return { requestId, problem: data.text === '' && 'the reply is empty' };
    },
    'the history has both turns': async () => {
      const { data: messages } = await client.messages.list(chat());
      const roles = messages.map(({ role }) => role).join(', ');
      const isWhole = messages.filter(({ role }) => role === 'assistant').length === 2;
      return { requestId: undefined, problem: !isWhole && `its messages are of: ${roles}` };
    },
    'a file is uploaded': async () => {
      const file = { name: 'smoke.txt', scope: 'ephemeral' as const };
      const { requestId } = await client.files.upload(Buffer.from('Smoke test'), file).withResponse();
      return { requestId };
    },
    'a batch ends with its result': () => runBatch(client, agentId, chat()),
    'the chat is deleted': async () => {
      const { requestId } = await deleteChat();
      chatId = undefined;
      return { requestId };
    },
  };
  return {
    steps,
    async cleanUp(): Promise<void> {
      if (chatId !== undefined) await deleteChat().catch(() => undefined);
    },
  };
}

async function rejectStranger(stranger: ChatBatchClient): Promise<Finding> {
  try {
    const { requestId } = await stranger.agents.list().withResponse();
    return { requestId, problem: 'the key is accepted' };
  } catch (error) {
    if (error instanceof AuthenticationError) return { requestId: error.requestId };
    throw error;
  }
}

async function runBatch(client: ChatBatchClient, agentId: string, chatId: number): Promise<Finding> {
  const { data: created, requestId } = await client.batches
    .create({ agent_id: agentId, requests: [{ custom_id: 'smoke', message, history_id: chatId }] })
    .withResponse();
  const deadline = performance.now() + batchSeconds * 1000;
  let batch = created;
  while (!hasEnded(batch)) {
    if (performance.now() > deadline)
      return { requestId, problem: `it is ${batch.status} after ${batchSeconds} s` };
    await pause(1000);
    batch = await client.batches.get(batch.id);
  }
  const { data: results } = await client.batches.results(batch.id);
  const found = results.map(({ status, error_message: error }) => error ?? status).join(', ');
  return { requestId, problem: found !== 'success' && `its results are: ${found}` };
}
