import { AsyncLocalStorage } from 'node:async_hooks';
import { createParser } from 'eventsource-parser';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import type { McpTarget } from '#domain/tools/mcp.ts';
import type { RemoteHead, RemoteHttp } from '#domain/tools/remote-http.ts';

const limits = {
  /** The maximum size of all responses of a call together, decompressed. */
  bytes: 2_000_000,
  /** The maximum number of fields and elements in a message. A list of 500 tools has some 20,000. */
  values: 50_000,
  /** The maximum number of contents in the result of a tool. */
  contents: 200,
  /** How much of a response with a status of 400 or more is read, in UTF-16 code units. */
  errorBytes: 64 * 1024,
  /**
   * Milliseconds for a message that needs no response: a notification, a reply to the server, the end of a session. The
   * abort of the call does not abort it.
   */
  notification: 1000,
};

/** What one call has used, and why it has failed. */
interface CallState {
  /** The number of requests that are left. */
  requests: number;
  /** The number of bytes that were received. */
  bytes: number;
  /** Milliseconds for each request: more than for the call, so that the signal ends it first. */
  timeout: number;
  signal: AbortSignal;
  failure?: unknown;
  /** Ends the call at once: the client would go on with a broken stream. */
  fail: (error: unknown) => void;
  /** The status of the last response. */
  status?: number;
}

const calls = new AsyncLocalStorage<CallState>();

/**
 * Runs one call. All requests that it makes, also later ones of its streams, count for it.
 * @param options `timeout`, in milliseconds, and the maximum number of `requests`
 * @param work must end when the signal of the state aborts: at the timeout, at a failure, or with `signal`
 */
export async function asOneCall<Result>(
  { timeout, requests }: { timeout: number; requests: number },
  signal: AbortSignal,
  work: (state: CallState) => Promise<Result>,
): Promise<Result> {
  const failed = new AbortController();
  const state: CallState = {
    ...{ requests, bytes: 0, timeout: timeout + 1000 },
    signal: AbortSignal.any([signal, failed.signal, AbortSignal.timeout(timeout)]),
    fail(error) {
      state.failure ??= error;
      failed.abort(error);
    },
  };
  return calls.run(state, () => work(state));
}

type Message = Readonly<Record<string, unknown>>;

/** The streams that ended before the response: the id of the request that each is for, by the id of its last event. */
type Resumable = Map<string, unknown>;

/**
 * Makes the `fetch` of the client of MCP. Whatever the server sends, the client gets one response with the id of its
 * request, without secrets and of a bounded size, depth and number of contents. In its place the client gets the start
 * of the text for a status of 400 or more, and an event that makes it resume a stream that broke off.
 */
export function mcpFetch(http: RemoteHttp, target: McpTarget) {
  const resumable: Resumable = new Map();
  const fetch = async (_url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method, body } = init as { method: 'GET' | 'POST' | 'DELETE'; body?: string };
    const headers = Object.fromEntries(new Headers(init.headers));
    const lastEvent = headers['last-event-id'];
    // The stream of messages that belong to no call is not opened.
    if (method === 'GET' && lastEvent === undefined) return new Response(null, { status: 405 });
    const id = lastEvent === undefined ? idOf(body) : resumable.get(lastEvent);
    const request = {
      ...{ ...target, method, headers: { ...target.headers, ...headers }, maxBytes: limits.bytes },
      body: body === undefined ? undefined : Buffer.from(body),
    };
    const state = calls.getStore();
    if (id === undefined || state === undefined) {
      const signal = AbortSignal.timeout(limits.notification);
      return http.send({ ...request, timeout: limits.notification, signal }, readNothing);
    }
    const count = () => countRequest(state);
    try {
      count();
      return await http.send({ ...request, timeout: state.timeout, signal: state.signal }, (head, chunks) => {
        state.status = head.status;
        return readResponse(head, counting(chunks, state), id, { resumable, fetch, headers, count });
      });
    } catch (error) {
      if (!state.signal.aborted) state.fail(error);
      throw error;
    }
  };
  return fetch;
}

/** The id of the request in a body. Undefined for a notification, a response to the server, and without a body. */
function idOf(body = '{}'): unknown {
  const { method, id } = JSON.parse(body) as Message;
  return method === undefined ? undefined : id;
}

function countRequest(state: CallState): void {
  state.requests -= 1;
  if (state.requests < 0)
    throw new OutboundFailure('protocol', 'The server needs too many requests for one call');
}

async function* counting(chunks: AsyncIterable<Uint8Array>, state: CallState): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    state.bytes += chunk.length;
    if (state.bytes > limits.bytes) throw new OutboundFailure('too-large');
    yield chunk;
  }
}

/** Drops the body of a response to a notification, to a response, or to the end of a session. */
async function readNothing({ status }: RemoteHead, chunks: AsyncIterable<Uint8Array>): Promise<Response> {
  await drain(chunks[Symbol.asyncIterator]());
  return new Response(null, { status: status >= 400 ? status : 202 });
}

interface Context {
  resumable: Resumable;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  headers: Readonly<Record<string, string>>;
  /** @throws OutboundFailure if the call has made too many requests */
  count: () => void;
}

async function readResponse(
  head: RemoteHead,
  chunks: AsyncIterable<Uint8Array>,
  id: unknown,
  context: Context,
): Promise<Response> {
  const { status, redact } = head;
  const session = head.headers['mcp-session-id'];
  const visible = session !== undefined && /^[\x21-\x7e]{1,256}$/.test(session);
  if (session !== undefined && !visible) throw new OutboundFailure('protocol');
  const respond = (body: string, type: string) =>
    new Response(body, {
      status,
      headers: { 'content-type': type, ...(visible && { 'mcp-session-id': session }) },
    });
  const type = head.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (status >= 400) return respond(redact(await firstText(chunks)), type);
  if (type === 'text/event-stream') {
    const found = await responseInStream(chunks, id, context);
    return respond(typeof found === 'string' ? found : `data: ${JSON.stringify(redact(found))}\n\n`, type);
  }
  if (type !== 'application/json') throw new OutboundFailure('protocol');
  const message = await parseMessage(Buffer.concat(await Array.fromAsync(chunks)));
  if (message.id !== id) throw new OutboundFailure('protocol', 'The server responds to another request');
  return respond(JSON.stringify(redact(message)), type);
}

async function firstText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) {
    text += Buffer.from(chunk).toString();
    if (text.length > limits.errorBytes) break;
  }
  return text.slice(0, limits.errorBytes);
}

let lastParse: Promise<unknown> = Promise.resolve();

/**
 * Parses a message. Large responses of several servers are parsed in turn, each in a turn of the event loop of its own.
 * @throws OutboundFailure if it is not JSON, too deep, has too many values or contents, or an unknown type of content
 */
async function parseMessage(text: string | Buffer): Promise<Message> {
  const turn = lastParse.then(() => new Promise<void>((next) => void setImmediate(next)));
  lastParse = turn;
  await turn;
  try {
    const message = parseJson('The response', text.toString(), limits.values) as Message;
    const { content } = Object(message.result) as { content?: unknown };
    const contents = Array.isArray(content) ? content : [];
    const isKnown = ({ type }: { type?: unknown }) => contentTypes.has(type);
    if (contents.length <= limits.contents && contents.every((each) => isKnown(Object(each))))
      return Object(message);
  } catch {
    // The text is not JSON, is too deep, or has too many values.
  }
  throw new OutboundFailure('protocol');
}

const contentTypes: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'resource', 'resource_link']);

/**
 * The response in a stream of events; or, if the stream ended before it and can be resumed, the text of the event that
 * makes the client resume it. Requests of the server before the response are replied to. The rest of the stream is read
 * in the background, so that the connection can be used again.
 * @throws OutboundFailure if the stream ended before the response and cannot be resumed
 */
async function responseInStream(
  chunks: AsyncIterable<Uint8Array>,
  id: unknown,
  { resumable, fetch, headers, count }: Context,
): Promise<Message | string> {
  const events: { data: string }[] = [];
  let lastEvent: string | undefined;
  let retry: number | undefined;
  const parser = createParser({
    onEvent({ data, id: event, event: name }) {
      lastEvent = event ?? lastEvent;
      if (data !== '' && (name === undefined || name === 'message')) events.push({ data });
    },
    onRetry: (milliseconds) => {
      retry = milliseconds;
    },
  });
  const decoder = new TextDecoder();
  const iterator = chunks[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    parser.feed(decoder.decode(next.value, { stream: true }));
    for (const { data } of events.splice(0)) {
      const message = await parseMessage(data);
      if (message.id === id && message.method === undefined) {
        void drain(iterator);
        return message;
      }
      if (typeof message.method !== 'string' || message.id === undefined) continue;
      count();
      void replyTo(message, fetch, headers).catch(() => undefined);
    }
  }
  if (lastEvent === undefined || /[\r\n]/.test(lastEvent) || lastEvent.length > 256)
    throw new OutboundFailure('protocol', 'The stream of the server ended before the response');
  resumable.set(lastEvent, id);
  return `id: ${lastEvent}\n${retry === undefined ? '' : `retry: ${retry}\n`}data:\n\n`;
}

async function drain(iterator: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    while (!(await iterator.next()).done);
  } catch {
    // Nothing of it is needed.
  }
}

/** Replies to a request of the server: none but `ping` is supported. */
const replyTo = ({ id, method }: Message, fetch: Context['fetch'], headers: Context['headers']) =>
  fetch('', {
    method: 'POST',
    headers: Object.entries(headers).filter(([name]) => name !== 'last-event-id'),
    body: JSON.stringify({
      jsonrpc: '2.0',
      ...(method === 'ping'
        ? { id, result: {} }
        : { id, error: { code: -32601, message: 'Method not found' } }),
    }),
  });
