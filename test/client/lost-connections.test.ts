import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  ChatBatchClient,
  type ClientOptions,
  ConnectionError,
  NotFoundError,
  StreamInterruptedError,
} from '#lib/client/index.ts';
import { type Cut, cuts, startCuttingProxy } from '#support/cutting-proxy.ts';
import { callsByMessage } from '#support/scripted-model.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant, model } = await useScriptedService();
model.onCall = (call) => {
  call.chunk('Hello');
  call.finish();
};
const callFor = callsByMessage(model);
const agent_id = tenant.agentId;

/** @param atEnd of the test's context, since concurrent tests have no other */
async function openProxy(
  options: Partial<ClientOptions> = {},
  atEnd: typeof onTestFinished = onTestFinished,
) {
  const { port } = new URL(service.baseUrl);
  const proxy = await startCuttingProxy(Number(port));
  atEnd(() => proxy.close());
  const client = new ChatBatchClient({
    baseUrl: service.baseUrl.replace(port, String(proxy.port)),
    apiKey: tenant.apiKey,
    retryDelay: 10,
    ...options,
  });
  return { proxy, client };
}

const stable = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey });

/** How often the message is in the chat, once its reply has ended. */
async function timesSent(chatId: number, text: string): Promise<number> {
  await vi.waitFor(async () => {
    const { data } = await stable.messages.list(chatId, { external_user_id: 'any' });
    expect(data.length % 2).toBe(0);
  }, 60_000);
  const messages = await stable.messages.list(chatId, { external_user_id: 'any' });
  return messages.data.filter(({ content }) => content === text).length;
}

/** Work that is done once, whatever happens to its connection, and how often it was done. */
const keyedWork: Record<
  string,
  (client: ChatBatchClient, chatId: number, name: string) => Promise<() => Promise<number>>
> = {
  'a plain send': async (client, chatId, message) => {
    expect(await client.messages.send(chatId, { message, agent_id })).toMatchObject({ text: 'Hello' });
    return () => timesSent(chatId, message);
  },
  'a resumable send': async (client, chatId, message) => {
    const stream = client.messages.stream(chatId, { message, agent_id, resumable: true });
    const numbers: number[] = [];
    for await (const { sequence_number } of stream) numbers.push(sequence_number);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect((await stream.finalMessage()).text).toBe('Hello');
    return () => timesSent(chatId, message);
  },
  'a new chat': async (client, _chatId, external_user_id) => {
    await client.chats.create({ name: 'Once', agent_id, external_user_id });
    return async () => (await stable.chats.list({ external_user_id })).pagination.total_records;
  },
  'a new batch': async (client, _chatId, custom_id) => {
    const { id } = await client.batches.create({
      agent_id,
      requests: [{ custom_id, message: 'In a batch' }],
    });
    return async () => {
      const batches = await Array.fromAsync(stable.batches.list({ limit: 1000 }));
      const firsts = await Promise.all(
        batches.map((batch) => stable.batches.results(batch.id, { limit: 1 })),
      );
      expect(batches.map((batch) => batch.id)).toContain(id);
      return firsts.filter(({ data }) => data[0]?.custom_id === custom_id).length;
    };
  },
};

describe.concurrent.each(Object.entries(keyedWork))('%s', (kind, work) => {
  test('is done once and returns its result, wherever the connection is cut', async (context) => {
    const { proxy, client } = await openProxy({}, context.onTestFinished);
    const chat = await stable.chats.create({ name: 'Cut', agent_id });
    for (const cut of cuts) {
      proxy.next.push(cut);
      const before = proxy.requests();
      const times = await work(client, chat.id, `${kind}, ${cut}`);
      expect([cut, await times()]).toEqual([cut, 1]);
      if (cut !== 'repeat') expect([cut, proxy.requests() - before > 1]).toEqual([cut, true]);
    }
  });
});

test('a stream that cannot be resumed is never sent again once its connection was open', async () => {
  const { proxy, client } = await openProxy();
  for (const cut of cuts.filter((each) => each !== 'repeat')) {
    // The reply to the one before may still run.
    const chat = await stable.chats.create({ name: 'Cut', agent_id });
    proxy.next.push(cut);
    const before = proxy.requests();
    const message = `Streamed, cut ${cut}`;
    const error = await client.messages
      .stream(chat.id, { message, agent_id })
      .finalMessage()
      .catch((reason: unknown) => reason);
    expect([cut, error]).toEqual([cut, expect.any(ConnectionError)]);
    expect([cut, error instanceof StreamInterruptedError]).toEqual([cut, cut === 'in the body']);
    expect([cut, proxy.requests() - before]).toEqual([cut, 1]);
    // The history has both messages of a turn once its reply has ended.
    if (!/request$/.test(cut)) await expect.poll(() => timesSent(chat.id, message)).toBe(1);
  }
});

test('a streamed send without a key that a proxy repeats is done once, while its reply runs', async () => {
  const { proxy, client } = await openProxy();
  const chat = await stable.chats.create({ name: 'Repeated', agent_id });
  proxy.next.push('repeat');
  const called = callFor('Repeated');
  const reply = client.messages.stream(chat.id, { message: 'Repeated', agent_id }).finalMessage();
  const outcome = reply.then(
    ({ text }) => text,
    (error: Error) => error.message,
  );
  const call = await called;
  // The service rejects one of the two.
  await Promise.race([proxy.repeated, outcome]);
  call.chunk('Hello');
  call.finish();
  expect(await outcome).toMatch(/^(Hello|A reply is already in progress for this chat)$/);
  expect(await timesSent(chat.id, 'Repeated')).toBe(1);
});

test('an upload is never sent again once its connection was open', async () => {
  const { proxy, client } = await openProxy();
  for (const cut of ['before the request', 'after the request', 'in the body'] satisfies Cut[]) {
    proxy.next.push(cut);
    const before = proxy.requests();
    await expect(client.files.upload(new Blob(['Text']), { name: 'a.txt' })).rejects.toThrow(ConnectionError);
    expect([cut, proxy.requests() - before]).toEqual([cut, 1]);
  }
});

test('a request without a key is retried while no connection can be opened', async () => {
  const { proxy, client } = await openProxy({
    fetch: (...parameters) =>
      fetch(...parameters).catch(async (error: unknown) => {
        await proxy.start();
        throw error;
      }),
  });
  const chat = await stable.chats.create({ name: 'Refused', agent_id });
  await proxy.stop();
  const reply = await client.messages.stream(chat.id, { message: 'Refused', agent_id }).finalMessage();
  expect(reply.text).toBe('Hello');
  expect(await timesSent(chat.id, 'Refused')).toBe(1);
});

test('a resumable reply whose connection is cut three times comes whole', async () => {
  const { proxy, client } = await openProxy();
  const chat = await stable.chats.create({ name: 'Long', agent_id });
  const called = callFor('Count');
  const stream = client.messages.stream(chat.id, { message: 'Count', agent_id, resumable: true });
  const call = await called;
  const numbers: number[] = [];
  let text = '';
  call.chunk('0 ');
  for await (const event of stream) {
    numbers.push(event.sequence_number);
    if (event.type !== 'response.output_text.delta') continue;
    text += event.delta;
    const count = text.trim().split(' ').length;
    if (count <= 3) {
      proxy.cut();
      call.chunk(`${count} `);
    } else if (count === 4) {
      call.chunk('end');
      call.finish();
    }
  }
  expect(text).toBe('0 1 2 3 end');
  expect((await stream.finalMessage()).text).toBe(text);
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(proxy.requests()).toBe(4);
  expect(await timesSent(chat.id, 'Count')).toBe(1);
});

test('a deletion, a cancellation and a stop whose responses are lost are successes', async () => {
  const { proxy, client } = await openProxy();
  const chat = await stable.chats.create({ name: 'Gone', agent_id });
  proxy.next.push('in the head');
  expect(await client.chats.delete(chat.id)).toEqual({ id: chat.id, deleted: true });
  await expect(client.chats.delete(chat.id)).rejects.toThrow(NotFoundError);

  const called = callFor('Cancelled');
  const { id } = await stable.batches.create({
    agent_id,
    requests: [{ custom_id: 'a', message: 'Cancelled' }],
  });
  const call = await called;
  proxy.next.push('in the head');
  expect((await client.batches.cancel(id)).status).toBe('cancelling');
  call.finish();

  const other = await stable.chats.create({ name: 'Stopped', agent_id });
  const stopped = callFor('Stop');
  const stream = stable.messages.stream(other.id, { message: 'Stop', agent_id });
  (await stopped).chunk('Some');
  await stream[Symbol.asyncIterator]().next();
  const response_id = stream.responseId ?? '';
  proxy.next.push('in the head');
  expect(await client.messages.stop(other.id, { response_id })).toMatchObject({
    response_id,
    status: 'stopped',
  });
});
