import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelMessage {
  role: string;
  content: string;
  tool_calls?: { id: string; type: 'function'; function: { name: string; arguments: string } }[];
  tool_call_id?: string;
}

/** What a model is asked, in OpenAI's words on every wire, so that one test can run against all. */
export interface ModelRequest {
  model: string;
  stream: boolean;
  messages: ModelMessage[];
  tools?: { type: 'function'; function: { name: string; description?: string; parameters: unknown } }[];
  tool_choice?: unknown;
}

export interface ScriptedToolCall {
  name: string;
  /** An object, or text that is sent as it is, JSON or not. */
  arguments: unknown;
  id?: string;
}

export interface ModelUsage {
  prompt_tokens: number;
  completion_tokens: number;
}

/** Errors that a provider tells in its stream, once its answer has begun. */
export type StreamError = 'throttled' | 'overloaded' | 'server error' | 'invalid request';

/** One call of a model that a test answers by hand. A call that asks for no stream gets one piece of JSON at its end. */
export interface ModelCall {
  request: ModelRequest;
  /** The request's body as it came. */
  body: unknown;
  headers: IncomingHttpHeaders;
  /** Sends one piece of text. */
  chunk(text: string): void;
  /** Sends one piece of what the model thinks. */
  reason(text: string): void;
  /** Calls tools at once, their arguments in fragments that take turns. */
  callTools(...calls: ScriptedToolCall[]): void;
  /** Ends the reply as a finished one, with its usage; with null it tells none. */
  finish(usage?: ModelUsage | null): void;
  /** Ends the reply as the provider does when it stops before the end. */
  cut(reason: 'length' | 'content_filter'): void;
  /** Sends bytes as they are, whatever they mean. */
  raw(bytes: string | Uint8Array): void;
  /** Tells of an error as a part of the stream, and ends it. */
  failInStream(error: StreamError): void;
  /** Ends the answer without a finish. */
  end(): void;
  /** Cuts the connection. */
  reset(): void;
  /** Answers with an HTTP error, before any piece. */
  fail(status: number, headers?: Record<string, string>, message?: string): void;
  /** Resolves when the caller has gone away. */
  gone: Promise<void>;
}

export interface ScriptedModel {
  /** For the variable that points functions at it. */
  url: string;
  /** Called for each streamed call; by default it says `Hello` and finishes. */
  onCall: (call: ModelCall) => void;
  /** Called for each call without a stream, such as one for a title; by default it says `Short answer`. */
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

/**
 * Serves a scripted model over HTTP.
 * @param openCall makes a call of a request that has been read; throws when it is none, which the caller is told.
 */
export async function serveModel(
  openCall: (request: ReceivedRequest, response: ServerResponse) => ModelCall,
): Promise<ScriptedModel> {
  const model: Omit<ScriptedModel, 'url' | 'close'> = {
    calls: [],
    plainCalls: [],
    onCall: (call) => {
      call.chunk('Hello');
      call.finish();
    },
    onPlainCall: (call) => {
      call.chunk('Short answer');
      call.finish();
    },
  };
  const server = createServer(async (request, response) => {
    const received = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      text: await textOf(request),
    };
    let call: ModelCall;
    try {
      call = openCall(received, response);
    } catch (error) {
      response.writeHead(400, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ message: String(error) }));
      return;
    }
    (call.request.stream ? model.calls : model.plainCalls).push(call);
    (call.request.stream ? model.onCall : model.onPlainCall)(call);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return Object.assign(model, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  });
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = await Array.fromAsync(request);
  return Buffer.concat(chunks).toString();
}

/** Resolves when the caller has gone, or has been answered. */
export const goneOf = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.once('close', () => resolve());
  });

/** The arguments of tool calls in fragments of three characters at most, which take turns. */
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

/** What has been said, for an answer in one piece. */
export class SaidSoFar {
  text = '';
  reasoning = '';
  readonly toolCalls: (ScriptedToolCall & { id: string })[] = [];

  /** Takes up tool calls, each with an id. */
  call(calls: readonly ScriptedToolCall[]): (ScriptedToolCall & { id: string })[] {
    const added = calls.map((call, index) => ({
      ...call,
      id: call.id ?? `call_${this.toolCalls.length + index}`,
    }));
    this.toolCalls.push(...added);
    return added;
  }
}

/** Unless a test says otherwise. */
export const usualUsage: ModelUsage = { prompt_tokens: 11, completion_tokens: 7 };
