import { AsyncLocalStorage } from 'node:async_hooks';
import { PassThrough, Readable } from 'node:stream';
import { ReadableStream, TextDecoderStream } from 'node:stream/web';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import type { McpTarget, RemoteHead, RemoteHttp } from '#domain/tools/remote-tools.ts';

const limits = {
  /** Of the responses to all requests of a call together, decompressed. */
  bytes: 2_000_000,
  /** Fields and elements in a message. A list of 500 tools may have 20,000. */
  values: 50_000,
  contents: 200,
  /** Milliseconds for what needs no response. The abort of the call does not abort it. */
  notification: 1000,
};

export interface CallState {
  requests: number;
  bytes: number;
  signal: AbortSignal;
  /** Ends the call with a failure: after a broken stream, for example, the client would otherwise wait. */
  failed: AbortController;
  status?: number;
}

/** The requests that a call makes in this context, also later ones of its streams, count for it. */
export const calls = new AsyncLocalStorage<CallState>();

type Message = Readonly<Record<string, unknown>>;
type Chunks = AsyncIterable<Uint8Array>;

/** Limits the bodies of responses, and removes the secrets from them. */
export const mcpFetch =
  (http: RemoteHttp, target: McpTarget) =>
  async (_url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method, body } = init as { method: 'GET' | 'POST' | 'DELETE'; body?: string };
    const headers = Object.fromEntries(new Headers(init.headers));
    // The stream of messages that belong to no call is not opened.
    if (method === 'GET' && headers['last-event-id'] === undefined)
      return new Response(null, { status: 405 });
    const request = {
      ...{ ...target, method, headers: { ...target.headers, ...headers }, maxBytes: limits.bytes },
      body: body === undefined ? undefined : Buffer.from(body),
    };
    const sent = JSON.parse(body ?? '{}') as Message;
    const state = calls.getStore();
    if (state === undefined || (method !== 'GET' && !isRequest(sent))) {
      const signal = AbortSignal.timeout(limits.notification);
      return http.send({ ...request, timeout: limits.notification, signal }, readNothing);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    countRequest(state);
    // The signal ends the call before this timeout does.
    const limited = { ...request, timeout: target.timeout + 1000, signal: state.signal };
    const read = (head: RemoteHead, chunks: Chunks) =>
      readResponse(head, counted(chunks, state), { sent, state, resolve });
    http.send(limited, read).catch((error) => {
      state.failed.abort(error);
      reject(error);
    });
    return promise;
  };

const isRequest = ({ method, id }: Message): boolean => method !== undefined && id !== undefined;

/** In a stream that the client resumes, any response is that to its request. */
const isResponseTo = (sent: Message, { method, id }: Message): boolean =>
  method === undefined && (sent.id === undefined || sent.id === id);

/** @throws if the call has ended; one request too many ends it with an OutboundFailure */
function countRequest(state: CallState): void {
  state.requests -= 1;
  if (state.requests < 0)
    state.failed.abort(new OutboundFailure('protocol', 'The server needs too many requests for one call'));
  state.signal.throwIfAborted();
}

async function* counted(chunks: Chunks, state: CallState): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    state.bytes += chunk.length;
    if (state.bytes > limits.bytes) throw new OutboundFailure('too-large');
    yield chunk;
  }
}

async function readNothing({ status }: RemoteHead, chunks: Chunks): Promise<Response> {
  await Array.fromAsync(chunks).catch(() => undefined);
  return new Response(null, { status: status >= 400 ? status : 202 });
}

interface Exchange {
  sent: Message;
  state: CallState;
  resolve: (response: Response) => void;
}

async function readResponse(head: RemoteHead, chunks: Chunks, exchange: Exchange): Promise<void> {
  const { sent, state, resolve } = exchange;
  const { status, redact } = head;
  const { 'mcp-session-id': session = '', 'content-type': contentType = '' } = head.headers;
  state.status = status;
  if (!/^[\x21-\x7e]{0,256}$/.test(session)) throw new OutboundFailure('protocol');
  const type = contentType.replace(/;.*/s, '').trim().toLowerCase();
  const respond = (body: string | ReadableStream) =>
    resolve(new Response(body, { status, headers: { 'content-type': type, 'mcp-session-id': session } }));
  if (status < 400 && type === 'text/event-stream') return readStream(chunks, head, exchange, respond);
  const text = Buffer.concat(await Array.fromAsync(chunks)).toString();
  if (status >= 400) return respond(redact(text));
  if (type !== 'application/json') throw new OutboundFailure('protocol');
  const message = await parseMessage(text);
  if (message.id !== sent.id) throw new OutboundFailure('protocol', 'The server responds to another request');
  respond(JSON.stringify(redact(message)));
}

let lastParse: Promise<unknown> = Promise.resolve();

/**
 * The messages of all servers are parsed one after the other, each in a turn of the event loop of its own.
 * @throws OutboundFailure if it is not JSON within the limits, or has an unknown type of content
 */
async function parseMessage(text: string): Promise<Message> {
  const turn = lastParse.then(() => new Promise<void>((next) => void setImmediate(next)));
  lastParse = turn;
  await turn;
  try {
    const message = parseJson('The response', text, limits.values) as Message;
    const { content } = Object(message.result) as { content?: unknown };
    const contents = Array.isArray(content) ? content : [];
    if (contents.length <= limits.contents && contents.every((each) => contentTypes.has(Object(each).type)))
      return Object(message);
  } catch {
    // For example, the text is not JSON, or has too many values.
  }
  throw new OutboundFailure('protocol');
}

const contentTypes: ReadonlySet<unknown> = new Set(['text', 'image', 'audio', 'resource', 'resource_link']);

/**
 * What follows the response is read too, so that the connection can be used again.
 * @throws OutboundFailure, such as for a stream that ended before the response and cannot be resumed
 */
async function readStream(
  chunks: Chunks,
  { redact }: RemoteHead,
  { sent, state }: Exchange,
  respond: (body: ReadableStream) => void,
): Promise<void> {
  let lastEvent = '';
  const client = new PassThrough();
  const onRetry = (milliseconds: number) => client.writable && client.write(`retry: ${milliseconds}\n\n`);
  const events = ReadableStream.from(chunks)
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ onRetry }));
  respond(Readable.toWeb(client));
  for await (const { data, id, event = 'message' } of events.values({ preventCancel: true })) {
    lastEvent = id ?? lastEvent;
    if (data === '' || event !== 'message') continue;
    const message = await parseMessage(data);
    const isResponse = isResponseTo(sent, message);
    if (isRequest(message)) countRequest(state);
    else if (!isResponse) continue;
    client.write(`data: ${JSON.stringify(redact(message))}\n\n`);
    if (!isResponse) continue;
    client.end();
    return void Array.fromAsync(events).catch(() => undefined);
  }
  if (lastEvent === '')
    throw new OutboundFailure('protocol', 'The stream of the server ended before the response');
  // The client resumes a stream that ends before the response if an event of it had an id.
  client.end(`id: ${lastEvent}\ndata:\n\n`);
}
