import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** A response of a chat completions server, and what must become of it. */
export interface ProviderResponse {
  /** A text that is sent as events, unless `send` does it. */
  body?: string;
  headers?: Record<string, string>;
  send?: (response: ServerResponse, path: string) => void;
  /** The text of the reply, `Hello` by default. */
  text?: string;
  /** Prompt and completion tokens, 3 and 4 by default; 0 and 0 if the server reports none. */
  usage?: [number, number];
  end?: 'complete' | 'incomplete';
  /** The error of a reply that fails. */
  error?: string;
  /** The model rejects the message: a batch does not retry it. */
  isRejection?: boolean;
}

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
const whole = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});
const start = (response: ServerResponse, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
/** Lets the bytes arrive before the connection is cut. */
const thenCut = (body: string) => (response: ServerResponse) =>
  start(response).write(body, () => setTimeout(() => response.destroy(), 20));

const unfinished = 'The model could not complete the reply';
const unreachable = 'The model cannot be reached: try again later';

const responses: Readonly<Record<string, ProviderResponse>> = {
  'as the API says': { body: usual },
  'usage without choices': { body: events(hello, stop, { id: 'c', usage }) + done },
  'usage with choices that are null': { body: events(hello, stop, { choices: null, usage }) + done },
  'usage in every chunk': { body: events({ ...hello, usage }, { ...stop, usage }) + done },
  'usage in the choice': {
    body: events(hello, chunk({}, null, { choices: [{ delta: {}, finish_reason: 'stop', usage }] })) + done,
  },
  'usage of another shape': {
    body: events(hello, stop, { choices: [], usage: { prompt_tokens: '3', completion_tokens: -4 } }) + done,
    usage: [0, 0],
  },
  'no usage': { body: events(hello, stop) + done, usage: [0, 0] },
  'a ping': { body: events(hello, { type: 'ping' }, stop, usageChunk) + done },
  'empty data': { body: `${events('', hello, '', stop)}data\n\n${events(usageChunk)}${done}` },
  'unparsable data': {
    body: events(hello, '{"choices": [', 'null', '7', '[]', stop, usageChunk) + done,
  },
  'an unknown event': { body: `event: x\n${events({ x: 1 }, hello, stop, usageChunk)}${done}` },
  'an error that is null': { body: events({ ...hello, error: null }, stop, usageChunk) + done },
  'no finish reason, but an end': { body: events(hello, usageChunk) + done },
  'a finish reason, but no end': { body: events(hello, stop, usageChunk) },
  'a cut after the finish reason': { send: thenCut(events(hello, stop)), usage: [0, 0] },
  'garbage after the finish reason': { body: `${events(hello, stop)}<html>{`, usage: [0, 0] },
  'an error after the finish reason': {
    body: events(hello, stop, { error: { message: 'late' } }, usageChunk) + done,
  },
  'a connection left open after the end': { send: (response) => start(response).write(usual) },
  'a connection left open after the finish reason': {
    send: (response) => start(response).write(events(hello, stop, usageChunk)),
  },
  'events after the end': { body: usual + events(chunk({ content: 'More' })) },
  'the role model': {
    body: events(chunk({ role: 'model', content: 'Hello' }), stop, usageChunk) + done,
  },
  'content in parts': {
    body: events(chunk({ content: [{ type: 'text', text: 'Hello' }, null] }), stop, usageChunk) + done,
  },
  'a message in place of a delta': {
    body: events({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }], usage }) + done,
  },
  'an empty finish reason in every chunk': {
    body: events(chunk({ content: 'Hello' }, ''), chunk({ content: null }, ''), stop, usageChunk) + done,
  },
  'reasoning under any name': {
    body:
      events(
        chunk({ reasoning_content: 'Hm. ', content: '' }),
        chunk({ reasoning: 'Hm. ', content: null }),
        chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm. ' }] }] }),
        ...[hello, stop, usageChunk],
      ) + done,
  },
  'one object': { body: whole, headers: { 'content-type': 'application/json' } },
  'one object that is called events': { body: whole },
  'events that are called an object': { body: usual, headers: { 'content-type': 'application/json' } },
  gzip: { send: (response) => start(response, { 'content-encoding': 'gzip' }).end(gzipSync(usual)) },
  br: {
    send: (response) => start(response, { 'content-encoding': 'br' }).end(brotliCompressSync(usual)),
  },
  'a last event without its empty line': {
    body: `${events(hello)}data: ${JSON.stringify({ ...stop, usage })}`,
  },
  CRLF: { body: usual.replaceAll('\n', '\r\n') },
  'a byte order mark and comments': { body: `\uFEFF: hi\n\n${usual.replaceAll('data', ': hi\ndata')}` },
  'a redirect on the same server': {
    send(response, path) {
      if (path === '/v1/moved') start(response).end(usual);
      else response.writeHead(308, { location: '/v1/moved' }).end();
    },
  },
  'the limit of tokens': {
    body: events(hello, chunk({}, 'length'), usageChunk) + done,
    end: 'incomplete',
  },
  'no finish reason and no end': {
    body: events(hello, usageChunk),
    ...{ usage: [0, 0], error: unfinished },
  },
  'a cut after the text': { send: thenCut(events(hello)), usage: [0, 0], error: unreachable },
  'an error after the text': {
    body: events(hello, { error: { message: 'no', type: 'server_error' } }, stop) + done,
    ...{ usage: [0, 0], error: unreachable },
  },
  'an event of the name error': {
    body: `${events(hello)}event: error\n${events({ message: 'no' }, stop)}${done}`,
    ...{ usage: [0, 0], error: unfinished },
  },
  'the finish reason error': {
    body: events(hello, chunk({}, 'error'), usageChunk) + done,
    error: unfinished,
  },
  'a rejection by the model': {
    body: events(chunk({ refusal: 'Hello' }), stop, usageChunk) + done,
    error: 'The reply was cut by the content filter of the model',
    isRejection: true,
  },
  'an end without a text': { body: done, ...{ text: '', usage: [0, 0], error: unfinished } },
  'a page': { body: '<html>\n\nHello</html>', ...{ text: '', usage: [0, 0], error: unfinished } },
  'one object that is an error': {
    body: '{"error": {"message": "no"}}',
    ...{ text: '', usage: [0, 0], error: unfinished },
  },
  'a redirect to another server': {
    send: (response) => response.writeHead(308, { location: 'http://127.0.0.2:9/v1' }).end(),
    ...{ text: '', usage: [0, 0], error: unfinished },
  },
};

export const providerResponses = Object.entries(responses).map(([name, response]) => ({ name, ...response }));
