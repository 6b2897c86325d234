import { setTimeout as pause } from 'node:timers/promises';
import { AuthenticationError, type ChatBatchClient } from '#lib/client/index.ts';
import { hasEnded } from './watch-batches.ts';

/** What a step has found. */
interface Finding {
  requestId: string | undefined;
  /** What is wrong with the response; undefined if nothing is. */
  problem?: string | undefined;
}

/** A request of a client, or several, and what must be true of the response. An error is a failure too. */
export interface SmokeStep {
  name: string;
  run(): Promise<Finding>;
}

export interface SmokeClients {
  client: ChatBatchClient;
  /** A client whose key does not exist. */
  stranger: ChatBatchClient;
  /** The body of the client's last response, as far as the client has read it. */
  lastBody(): string;
  /** A published agent of the client's workspace. */
  agentId: string;
}

/** A batch of one request ends within seconds, and after cold starts within about ten seconds. */
const batchSeconds = 120;

const message = 'What can you do?';
const problemIf = (isWrong: boolean, problem: string): Pick<Finding, 'problem'> =>
  isWrong ? { problem } : {};

const step = (name: string, run: SmokeStep['run']): SmokeStep => ({ name, run });

const onlyId = ({ requestId }: Finding): Finding => ({ requestId });

/** The steps in their order: each one may use what the ones before it have made. */
export function smokeSteps({ client, stranger, agentId, lastBody }: SmokeClients) {
  let chatId: number | undefined;
  const chat = () => chatId ?? 0;
  const deleteChat = () => client.chats.delete(chat()).withResponse();
  const steps: SmokeStep[] = [
    step('an unknown key is rejected', () => rejectStranger(stranger)),
    step('agents are listed', async () => {
      const { data, requestId } = await client.agents.list().withResponse();
      const isMissing = data.every(({ id }) => id !== agentId);
      return { requestId, ...problemIf(isMissing, 'the agent is missing') };
    }),
    step('a chat is created', async () => {
      const input = { name: 'Smoke test', agent_id: agentId };
      const { data, requestId } = await client.chats.create(input).withResponse();
      chatId = data.id;
      return { requestId };
    }),
    step('a reply is streamed', async () => {
      const stream = client.messages.stream(chat(), { message, agent_id: agentId });
      const { text } = await stream.finalMessage();
      // Once a reply is complete, the client library does not need the end of its stream.
      const hasEnd = lastBody().trimEnd().endsWith('data: [DONE]');
      return {
        requestId: stream.requestId,
        ...problemIf(!hasEnd, 'the stream has no [DONE]'),
        ...problemIf(text === '', 'the reply is empty'),
      };
    }),
    step('a reply is sent as JSON', async () => {
      const input = { message, agent_id: agentId };
      const { data, requestId } = await client.messages.send(chat(), input).withResponse();
      return { requestId, ...problemIf(data.text === '', 'the reply is empty') };
    }),
    step('the history has both turns', async () => {
      const { data: messages } = await client.messages.list(chat());
      const roles = messages.map(({ role }) => role).join(', ');
      const isWhole = messages.filter(({ role }) => role === 'assistant').length === 2;
      return { requestId: undefined, ...problemIf(!isWhole, `its messages are of: ${roles}`) };
    }),
    step('a file is uploaded', async () => {
      const file = { name: 'smoke.txt', scope: 'ephemeral' as const };
      return onlyId(await client.files.upload(Buffer.from('Smoke test'), file).withResponse());
    }),
    step('a batch ends with its result', () => runBatch(client, agentId, chat())),
    step('the chat is deleted', async () => {
      const deleted = onlyId(await deleteChat());
      chatId = undefined;
      return deleted;
    }),
  ];
  return {
    steps,
    /** Deletes the chat of steps that have failed. */
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
    // The client throws this class for the error code of a wrong key.
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
  return { requestId, ...problemIf(found !== 'success', `its results are: ${found}`) };
}
