import { expect, onTestFinished, test } from 'vitest';
import {
  ChatBatchClient,
  NotFoundError,
  ReplyFailedError,
  type ReplyStream,
  type StreamEvent,
  StreamInterruptedError,
  StreamTimeoutError,
  toUIMessageStream,
} from '#lib/client/index.ts';
import { startFront } from '#support/front-server.ts';
import { useScriptedService } from '#support/use-service.ts';

const { service, tenant, callFor } = await useScriptedService();
const client = new ChatBatchClient({ baseUrl: service.baseUrl, apiKey: tenant.apiKey, retryDelay: 10 });
const agent_id = tenant.agentId;
const newChat = async () => (await client.chats.create({ name: 'Chat', agent_id })).id;

/** Sends a message, and reads until the first delta. */
async function startReply(
  message: string,
  options: Parameters<typeof client.messages.stream>[2] = {},
  resumable = false,
) {
  const chatId = await newChat();
  const called = callFor(message);
  const stream = client.messages.stream(chatId, { message, agent_id, resumable }, options);
  const events = stream[Symbol.asyncIterator]();
  await events.next();
  const call = await called;
  call.chunk('One, ');
  await events.next();
  expect(stream.text).toBe('One, ');
  return { chatId, call, stream, events };
}

async function historyOf(chatId: number): Promise<string[]> {
  const messages = await Array.fromAsync(client.messages.list(chatId, { external_user_id: 'any' }));
  return messages.map(({ content }) => content);
}

test('a silent stream is an error that says what is known of the reply', async () => {
  const { chatId, call, stream, events } = await startReply('Silence', { streamTimeout: 2000 });
  const error = await events.next().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StreamTimeoutError);
  expect(error).toBeInstanceOf(StreamInterruptedError);
  const { responseId, requestId } = stream;
  expect(error).toMatchObject({
    reply: { chatId, text: 'One, ', responseId, requestId, messageId: expect.any(Number) },
  });
  await expect(stream.finalMessage()).rejects.toBe(error);
  call.chunk('two');
  call.finish();
  await expect.poll(() => historyOf(chatId)).toEqual(['Silence', 'One, two']);
});

test('a silent stream that can be resumed goes on', async () => {
  const { call, stream, events } = await startReply('Short silence', { streamTimeout: 2500 }, true);
  const { requestId } = stream;
  const next = events.next();
  await expect.poll(() => stream.requestId).not.toBe(requestId);
  call.chunk('two');
  expect((await next).value).toMatchObject({ delta: 'two', sequence_number: 2 });
  call.finish();
  for await (const _ of { [Symbol.asyncIterator]: () => events });
  expect((await stream.finalMessage()).text).toBe('One, two');
});

const leavings: Record<
  string,
  (stream: ReplyStream, events: AsyncGenerator<StreamEvent>, abort: () => void) => Promise<void>
> = {
  'an aborted signal': async (stream, events, abort) => {
    const next = events.next();
    abort();
    await expect(next).rejects.toThrow('Closed');
    await expect(stream.finalMessage()).rejects.toThrow('Closed');
  },
  'the end of the loop': async (stream, events) => {
    await events.return(undefined);
    await expect(stream.finalMessage()).rejects.toThrow('The reader has left the stream');
  },
};

test.each(Object.entries(leavings))('%s only disconnects: the reply is completed', async (name, leave) => {
  const controller = new AbortController();
  const { chatId, call, stream, events } = await startReply(name, { signal: controller.signal });
  await leave(stream, events, () => controller.abort(new Error('Closed')));
  call.chunk('two');
  call.finish();
  await expect.poll(() => historyOf(chatId)).toEqual([name, 'One, two']);
});

test('a stream that nobody reads has no unhandled rejection', async () => {
  const controller = new AbortController();
  const chatId = await newChat();
  const stream = client.messages.stream(
    chatId,
    { message: 'Unread', agent_id },
    { signal: controller.signal },
  );
  controller.abort(new Error('Closed'));
  await new Promise((resolve) => setImmediate(resolve));
  await expect(stream.finalMessage()).rejects.toThrow('Closed');
});

test('stop ends the reply on the service', async () => {
  const { chatId, call, stream, events } = await startReply('Stop');
  expect(await stream.stop()).toMatchObject({ chat_id: chatId, response_id: stream.responseId });
  await call.gone;
  for await (const _ of { [Symbol.asyncIterator]: () => events });
  expect(await stream.finalMessage()).toMatchObject({ text: 'One, ', incomplete: 'stopped' });
  await expect(stream.stop()).rejects.toThrow('No reply is in progress for this chat');
});

test('stop works before the first event is read', async () => {
  const chatId = await newChat();
  const called = callFor('Stop at once');
  const stream = client.messages.stream(chatId, { message: 'Stop at once', agent_id });
  await stream.stop();
  await (await called).gone;
  expect(await stream.finalMessage()).toMatchObject({ text: '', incomplete: 'stopped' });
});

test('stop of a resumed stream ends no later reply', async () => {
  const { chatId, call, stream, events } = await startReply('Ended', {}, true);
  call.finish();
  for await (const _ of { [Symbol.asyncIterator]: () => events });
  const called = callFor('Later');
  const next = client.messages.stream(chatId, { message: 'Later', agent_id });
  const nextCall = await called;
  const resumed = client.messages.resume(chatId, { response_id: stream.responseId ?? '' });
  await expect(resumed.stop()).rejects.toThrow('Another reply than response_id is in progress');
  resumed.disconnect();
  nextCall.chunk('Whole');
  nextCall.finish();
  const { text, incomplete } = await next.finalMessage();
  expect([text, incomplete]).toEqual(['Whole', undefined]);
});

test('the event response.error is an error with the text so far', async () => {
  const { chatId, call, stream, events } = await startReply('Fail', {}, true);
  call.failInStream('invalid request');
  const error = await events.next().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ReplyFailedError);
  expect(error).toMatchObject({
    errorCode: 10005,
    event: { type: 'response.error', response_id: stream.responseId, code: 10005 },
    reply: { chatId, text: 'One, ', responseId: stream.responseId },
  });
});

test('a rejected send is an error where the stream is read', async () => {
  const stream = client.messages.stream(999_999, { message: 'Hi', agent_id });
  await expect(stream.finalMessage()).rejects.toThrow(NotFoundError);
  await expect(
    client.messages.resume(await newChat(), { response_id: 'resp_x' }).finalMessage(),
  ).rejects.toThrow('No stream to resume');
});

test('another client resumes after an event', async () => {
  const { chatId, call, stream } = await startReply('Resume', {}, true);
  const response_id = stream.responseId ?? '';
  const other = client.messages.resume(chatId, { response_id, starting_after: 0 });
  call.chunk('two');
  call.finish();
  const events = await Array.fromAsync(other);
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index + 1));
  // Its text starts where it does, and its final message is whole.
  expect((await other.finalMessage()).text).toBe('One, two');
});

const event = (sequence_number: number, fields: object) =>
  `event: x\ndata: ${JSON.stringify({ response_id: 'resp_1', chat_id: 7, sequence_number, ...fields })}\n\n`;
const created = event(0, { type: 'response.created', message_id: 9 });
const hello = event(1, { type: 'response.output_text.delta', delta: 'Hello ' });
const world = event(2, { type: 'response.output_text.delta', delta: 'wörld' });
const completed = event(3, {
  type: 'response.output_text.completed',
  message_id: 9,
  final_text: 'Hello wörld',
  usage: {},
});
const done = 'data: [DONE]\n\n';

/** A client of a server that sends these streams, one a connection. */
async function openStreams(...streams: (string | Uint8Array)[][]) {
  const front = await startFront();
  onTestFinished(() => front.close());
  front.serve = async ({ response }) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    for (const chunk of streams[front.requests.length - 1] ?? []) {
      await new Promise<void>((written) => response.write(chunk, () => written()));
      // A chunk of its own for the client.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    response.end();
  };
  return { front, client: new ChatBatchClient({ baseUrl: front.baseUrl, apiKey: 'ak_x', retryDelay: 1 }) };
}
const send = { message: 'Hi', agent_id: 'a' };

test('a title may come after the text, until [DONE]', async () => {
  const title = event(4, { type: 'response.chat.title.updated', name: 'Greetings' });
  const parts = [created, hello, world, completed, title, done];
  const { client: reader } = await openStreams(parts, parts);
  const stream = reader.messages.stream(7, send);
  expect((await Array.fromAsync(stream)).map(({ type }) => type).slice(-2)).toEqual([
    'response.output_text.completed',
    'response.chat.title.updated',
  ]);
  expect(await stream.finalMessage()).toMatchObject({ text: 'Hello wörld', title: 'Greetings' });
  const chunks = await Array.fromAsync(toUIMessageStream(reader.messages.stream(7, send)));
  expect(chunks.slice(-2)).toEqual([
    { type: 'finish', finishReason: 'stop', messageMetadata: { usage: {} } },
    { type: 'data-chat-title', data: { name: 'Greetings' }, transient: true },
  ]);
});

test('a stream may come in chunks of any size, with comments and other line ends', async () => {
  const text = `: ping\n\n${created}${hello}: ping\n\n${world}${completed}${done}`;
  const bytes = new TextEncoder().encode(text);
  const middle = bytes.indexOf(0xc3);
  const single = Array.from(bytes.subarray(middle - 100, middle + 20), (byte) => Uint8Array.of(byte));
  for (const chunks of [
    [text],
    [text.replaceAll('\n', '\r\n')],
    [bytes.subarray(0, middle - 100), ...single, bytes.subarray(middle + 20)],
  ]) {
    const { client: reader } = await openStreams(chunks);
    const stream = reader.messages.stream(7, send);
    expect((await stream.finalMessage()).text).toBe('Hello wörld');
    expect(stream.text).toBe('Hello wörld');
  }
});

test('a stream without [DONE] is an error, unless its reply is complete', async () => {
  for (const text of [created, created + hello, `${created}data: {"type`]) {
    const { client: reader } = await openStreams([text]);
    const error = await reader.messages
      .stream(7, send)
      .finalMessage()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StreamInterruptedError);
  }
  for (const resumable of [false, true]) {
    const { client: reader } = await openStreams([created + hello + world + completed]);
    const stream = reader.messages.stream(7, { ...send, resumable });
    expect((await stream.finalMessage()).text).toBe('Hello wörld');
  }
  const { client: reader } = await openStreams([created + done]);
  await expect(reader.messages.stream(7, send).finalMessage()).rejects.toThrow('ended without a reply');
});

test('each event comes once if a resumed stream repeats some, and a slow reader resumes if it can', async () => {
  const slow = event(1, { type: 'response.error', message: 'The reader is too slow', code: 10005 });
  const { client: once } = await openStreams([created, hello, slow, done]);
  const error = await once.messages
    .stream(7, send)
    .finalMessage()
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StreamInterruptedError);
  expect(error).toMatchObject({ message: 'The reader is too slow', reply: { text: 'Hello ' } });
  const { front, client: reader } = await openStreams(
    [created, hello, slow, done],
    [created, hello, world],
    [completed, done],
  );
  const stream = reader.messages.stream(7, { ...send, resumable: true });
  expect((await Array.fromAsync(stream)).map(({ sequence_number }) => sequence_number)).toEqual([0, 1, 2, 3]);
  expect(front.requests.map(({ path }) => path)).toEqual([
    '/chats/7/messages',
    '/chats/7/stream?response_id=resp_1&starting_after=1',
    '/chats/7/stream?response_id=resp_1&starting_after=2',
  ]);
});

test('a resume that is rejected is an interrupted stream, with the text so far and the cause', async () => {
  const { front, client: reader } = await openStreams([created, hello]);
  const { serve } = front;
  front.serve = async (exchange) => {
    if (front.requests.length === 1) return serve(exchange);
    exchange.response.writeHead(404, { 'Content-Type': 'application/json' });
    exchange.response.end('{"data":null,"message":"Reply not found","error_code":10003}');
  };
  const error = await reader.messages
    .stream(7, { ...send, resumable: true })
    .finalMessage()
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StreamInterruptedError);
  expect(error).toMatchObject({
    message: 'The stream was interrupted: Reply not found',
    reply: { text: 'Hello ' },
  });
  expect((error as Error).cause).toBeInstanceOf(NotFoundError);
});

test('a rejected repetition of a stream without events says that the first attempt may have been carried out', async () => {
  const { front, client: reader } = await openStreams([]);
  const { serve } = front;
  front.serve = (exchange) =>
    front.requests.length === 1
      ? serve(exchange)
      : exchange.respond(404, { data: null, message: 'Agent not found', error_code: 10003 });
  const stream = reader.messages.stream(7, { ...send, resumable: true });
  await expect(stream.finalMessage()).rejects.toMatchObject({ status: 404, mayBeProcessed: true });
});

test('resumes that bring nothing end after maxRetries', async () => {
  const { front, client: reader } = await openStreams([created], [], [], [], [], []);
  const stream = reader.messages.stream(7, { ...send, resumable: true });
  await expect(stream.finalMessage()).rejects.toThrow(StreamInterruptedError);
  expect(front.requests.length).toBe(4);
});
