import { createServer, type ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { readModelResponse } from '#agents/model-response.ts';
import { openai } from '#agents/models/openai.ts';
import { retryingModel } from '#agents/retrying-model.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { freeRetries } from '#support/free-retries.ts';
import { listenLocally } from '#support/listen-locally.ts';

let respond: (response: ServerResponse) => void;
const server = closeAfterTests(
  await listenLocally(
    createServer((request, response) => void request.resume().on('end', () => respond(response))),
  ),
);

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const chunk = (delta: object, finish_reason: string | null = null, fields: object = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta, finish_reason }],
  ...fields,
});
const hello = chunk({ role: 'assistant', content: 'Hello' });
const stop = chunk({}, 'stop');
const usageChunk = { id: 'c', choices: [], usage };
const done = 'data: [DONE]\n\n';
/** Values of events; texts are sent as they are. */
const events = (...values: unknown[]): string =>
  values.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('');
const usual = events(hello, stop, usageChunk) + done;
const start = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });
/** Lets the bytes arrive before the connection is cut. */
const thenCut = (body: string) => (response: ServerResponse) =>
  start(response).write(body, () => setTimeout(() => response.destroy(), 20));
const thenOpen = (body: string) => (response: ServerResponse) => start(response).write(body);

/** What becomes of a response; the reply `Hello` with its usage and the reason `stop`, unless it says more. */
interface End {
  text?: string;
  /** Prompt and completion tokens. */
  usage?: [number, number];
  reason?: string;
  /** The kind of the failure. */
  failure?: string;
}
type Send = (response: ServerResponse) => void;

const unreported: End = { usage: [0, 0] };
const failed: End = { failure: 'failed' };
const unreachable: End = { failure: 'unavailable' };
const failedAtOnce: End = { failure: 'failed', text: '' };

it.each<[name: string, response: string | Send, end?: End]>([
  ['usage without choices', events(hello, stop, { id: 'c', usage }) + done],
  ['usage in every chunk', events({ ...hello, usage }, { ...stop, usage }) + done],
  [
    'usage in the choice',
    events(hello, chunk({}, null, { choices: [{ delta: {}, finish_reason: 'stop', usage }] })) + done,
  ],
  [
    'usage of another shape',
    events(hello, stop, { choices: [], usage: { prompt_tokens: '3', completion_tokens: -4 } }) + done,
    unreported,
  ],
  ['no usage', events(hello, stop) + done, unreported],
  ['a ping', events(hello, { type: 'ping' }, stop, usageChunk) + done],
  ['empty data', `${events('', hello, '', stop)}data\n\n${events(usageChunk)}${done}`],
  ['unparsable data', events(hello, '{"choices": [', 'null', '7', '[]', stop, usageChunk) + done],
  ['an unknown event', `event: x\n${events({ x: 1 }, hello, stop, usageChunk)}${done}`],
  ['an error that is null', events({ ...hello, error: null }, stop, usageChunk) + done],
  ['no finish reason, but an end', events(hello, usageChunk) + done],
  ['a finish reason, but no end', events(hello, stop, usageChunk)],
  ['a cut after the finish reason', thenCut(events(hello, stop)), unreported],
  ['garbage after the finish reason', `${events(hello, stop)}<html>{`, unreported],
  [
    'an error after the finish reason',
    events(hello, stop, { error: { message: 'late' } }, usageChunk) + done,
  ],
  ['a connection left open after the end', thenOpen(usual)],
  ['a connection left open after the finish reason', thenOpen(events(hello, stop, usageChunk))],
  ['events after the end', usual + events(chunk({ content: 'More' }))],
  [
    'content in parts',
    events(
      chunk({ content: [{ type: 'text', text: 'Hel' }, null, { type: 'text', text: 'lo' }] }),
      stop,
      usageChunk,
    ) + done,
  ],
  [
    'a message in place of a delta',
    events({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }], usage }) + done,
  ],
  [
    'an empty finish reason in every chunk',
    events(chunk({ content: 'Hello' }, ''), chunk({ content: null }, ''), stop, usageChunk) + done,
  ],
  [
    'reasoning under any name',
    events(
      chunk({ reasoning_content: 'Hm. ', content: '' }),
      chunk({ reasoning: 'Hm. ', content: null }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm. ' }] }] }),
      ...[hello, stop, usageChunk],
    ) + done,
  ],
  [
    'events that are called an object',
    (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(usual),
  ],
  ['the limit of tokens', events(hello, chunk({}, 'length'), usageChunk) + done, { reason: 'length' }],
  ['no finish reason and no end', events(hello, usageChunk), failed],
  ['a cut after the text', thenCut(events(hello)), unreachable],
  [
    'an error after the text',
    events(hello, { error: { message: 'no', type: 'server_error' } }, stop) + done,
    unreachable,
  ],
  [
    'an event of the name error',
    `${events(hello)}event: error\n${events({ message: 'no' }, stop)}${done}`,
    failed,
  ],
  ['the finish reason error', events(hello, chunk({}, 'error'), usageChunk) + done, { reason: 'error' }],
  [
    'a rejection by the model',
    events(chunk({ refusal: 'Hello' }), stop, usageChunk) + done,
    { reason: 'content-filter' },
  ],
  ['an end without a text', done, failedAtOnce],
  ['a page', '<html>\n\nHello</html>', failedAtOnce],
  ['one object that is an error', '{"error": {"message": "no"}}', failedAtOnce],
])('a response of a provider with %s', async (_name, response, end = {}) => {
  respond = typeof response === 'string' ? (open) => start(open).end(response) : response;
  const provider = openai({
    baseUrl: () => server.url,
    apiKey: async () => 'key',
    onSkipped: () => undefined,
  });
  const model = retryingModel(provider.model('scripted'), { ...freeRetries(clock), attempts: 1 });
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }];
  let text = '';
  const listener = {
    text: (delta: string) => {
      text += delta;
    },
    progress: () => undefined,
    toolCall: () => ({}),
  };
  const [reply, title] = await Promise.allSettled([
    model.stream({ prompt }).then((parts) => readModelResponse(parts, { text: 100, other: 100 }, listener)),
    // A title is made of the same response.
    model.generate({ prompt }),
  ]);
  expect(text).toBe(end.text ?? 'Hello');
  if (end.failure !== undefined) {
    const rejection = { status: 'rejected', reason: { kind: end.failure } };
    expect([reply, title]).toMatchObject([rejection, rejection]);
    return;
  }
  const [total_prompt_tokens, total_completion_tokens] = end.usage ?? [3, 4];
  const finishReason = end.reason ?? 'stop';
  expect(reply).toMatchObject({
    value: { finishReason, usage: { total_prompt_tokens, total_completion_tokens } },
  });
  expect(title).toMatchObject({
    value: { content: [{ type: 'text', text: 'Hello' }], finishReason: { unified: finishReason } },
  });
});
