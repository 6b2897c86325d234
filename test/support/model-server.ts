import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listenLocally } from './listen-locally.ts';

export interface ModelMessage {
  role: string;
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** A request to a model, in OpenAI's format for every provider, so that one test can run against all of them. */
export interface ModelRequest {
  model: string;
  stream: boolean;
  messages: ModelMessage[];
  tools?: { type: 'function'; function: { name: string; description?: string; parameters: unknown } }[];
}

export interface ScriptedToolCall {
  name: string;
  /** An object, or text that is sent unchanged, JSON or not. */
  arguments: unknown;
  id?: string;
}

export interface ModelUsage {
  /** Those that were read from the cache, or written to it, included. */
  prompt_tokens: number;
  completion_tokens: number;
  cached?: number;
  written?: number;
}

/** Errors that a provider sends inside its stream, after the response has started. */
export type StreamError = 'throttled' | 'overloaded' | 'server error' | 'invalid request';

/**
 * One call of a model, to which a test responds step by step. A call without a stream gets one JSON body at its end.
 */
export interface ModelCall {
  request: ModelRequest;
  /** The request's body as received. */
  body: unknown;
  headers: IncomingHttpHeaders;
  /** Sends one chunk of text. */
  chunk(text: string): void;
  /** Sends one chunk of the model's reasoning. */
  reason(text: string): void;
  /** Calls several tools in parallel, the fragments of their arguments interleaved. */
  callTools(...calls: ScriptedToolCall[]): void;
  /** Ends the reply normally, with its usage; with null it reports no usage. */
  finish(usage?: ModelUsage | null): void;
  /** Ends the reply as the provider does if it stops early. */
  cut(reason: 'length' | 'content_filter'): void;
  /** Sends bytes unchanged. */
  raw(bytes: string | Uint8Array): void;
  /** Sends an error inside the stream, and ends the stream. */
  failInStream(error: StreamError): void;
  /** Ends the response without a finish reason. */
  end(): void;
  /** Cuts the connection. */
  reset(): void;
  /** Responds with an HTTP error, before any chunk. */
  fail(status: number, headers?: Record<string, string>, message?: string): void;
  /** Resolves when the connection is closed. */
  gone: Promise<void>;
}

export interface ScriptedModel {
  /** For the environment variable with the provider's address. */
  url: string;
  /** Called for each streamed call; by default the model replies `Hello`. */
  onCall: (call: ModelCall) => void;
  /** Called for each call without a stream, such as one for a title; by default the model replies `Short answer`. */
  onPlainCall: (call: ModelCall) => void;
  /** The streamed calls. */
  calls: ModelCall[];
  plainCalls: ModelCall[];
  close(): Promise<void>;
}

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
}

/** A call without what is the same for each provider. `open` starts a stream. */
export type ProviderCall = Omit<ModelCall, 'raw' | 'end' | 'reset' | 'gone'> & { open: () => void };

/**
 * Serves a scripted model over HTTP.
 * @param openCall makes a call from a request; if it throws, the response is a 400 with the error
 */
export async function serveModel(
  openCall: (request: ReceivedRequest, response: ServerResponse) => ProviderCall,
): Promise<ScriptedModel> {
  const model: Omit<ScriptedModel, 'url' | 'close'> = {
    calls: [],
    plainCalls: [],
    onCall: (call) => replyWith(call, 'Hello'),
    onPlainCall: (call) => replyWith(call, 'Short answer'),
  };
  const server = createServer(async (request, response) => {
    const received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      text: await text(request),
    };
    let call: ModelCall;
    try {
      call = withConnection(openCall(received, response), response);
    } catch (error) {
      return sendJson(response, 400, { message: String(error) });
    }
    (call.request.stream ? model.calls : model.plainCalls).push(call);
    (call.request.stream ? model.onCall : model.onPlainCall)(call);
  });
  return Object.assign(model, await listenLocally(server));
}

/** Sends a text as one chunk, and ends the reply normally. */
export function replyWith(call: ModelCall, text: string, usage?: ModelUsage | null): void {
  call.chunk(text);
  call.finish(usage);
}

const withConnection = (call: ProviderCall, response: ServerResponse): ModelCall => ({
  ...call,
  raw(bytes) {
    call.open();
    response.write(bytes);
  },
  end() {
    call.open();
    response.end();
  },
  reset: () => response.destroy(),
  gone: new Promise((resolve) => {
    response.once('close', () => resolve());
  }),
});

export function sendJson(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** The arguments of tool calls in interleaved fragments of at most three characters. */
export function* fragmentsOf(
  calls: readonly ScriptedToolCall[],
): Generator<{ index: number; fragment: string }> {
  const texts = calls.map(({ arguments: value }) =>
    typeof value === 'string' ? value : JSON.stringify(value),
  );
  const longest = Math.max(...texts.map(({ length }) => length));
  for (let start = 0; start < longest; start += 3)
    for (const [index, text] of texts.entries()) {
      const fragment = text.slice(start, start + 3);
      if (fragment !== '') yield { index, fragment };
    }
}

/** Collects a reply, for a response without a stream. */
export class CollectedReply {
  text = '';
  readonly toolCalls: (ScriptedToolCall & { id: string })[] = [];

  /** Adds tool calls, each with an id. */
  call(calls: readonly ScriptedToolCall[]): (ScriptedToolCall & { id: string })[] {
    const added = calls.map((call, index) => ({
      ...call,
      id: call.id ?? `call_${this.toolCalls.length + index}`,
    }));
    this.toolCalls.push(...added);
    return added;
  }
}

/** The usage that a reply reports unless a test sets another one. */
export const usualUsage: ModelUsage = { prompt_tokens: 11, completion_tokens: 7 };
