import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One chat completion that a test answers by hand, on the OpenAI wire. */
export interface ModelCall {
  /** The request's body. */
  request: { model: string; stream: boolean; messages: { role: string; content: string }[] };
  /** Sends one piece of text. */
  piece(text: string): void;
  /** Ends the reply as a finished one, with its usage. */
  finish(usage?: { prompt_tokens: number; completion_tokens: number }): void;
  /** Ends the reply as the provider does when it stops before the end. */
  cut(reason: 'length' | 'content_filter'): void;
  /** Sends bytes as they are, whatever they mean. */
  raw(text: string): void;
  /** Ends the answer without a finish. */
  end(): void;
  /** Cuts the connection. */
  reset(): void;
  /** Answers with an HTTP error, before any piece. */
  fail(status: number, headers?: Record<string, string>): void;
  /** Resolves when the caller has gone away. */
  gone: Promise<void>;
}

export interface ScriptedModel {
  /** For OPENAI_BASE_URL. */
  url: string;
  /** Called for each completion; by default it says `Hello` and finishes. */
  onCall: (call: ModelCall) => void;
  calls: ModelCall[];
  close(): Promise<void>;
}

/** A model provider scripted over real HTTP: OpenAI's chat completions, streamed. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const model: Omit<ScriptedModel, 'url' | 'close'> = {
    calls: [],
    onCall: (call) => {
      call.piece('Hello');
      call.finish();
    },
  };
  const server = createServer(async (request, response) => {
    const call = openCall(JSON.parse(await textOf(request)) as ModelCall['request'], response);
    model.calls.push(call);
    model.onCall(call);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return Object.assign(model, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  });
}

/**
 * The completions that messages lead to, each taken by naming its message; others are answered as before. Tests that
 * run side by side thus script one provider.
 */
export function callsByMessage(model: ScriptedModel): (message: string) => Promise<ModelCall> {
  const takers = new Map<string, (call: ModelCall) => void>();
  const { onCall } = model;
  model.onCall = (call) => {
    // An unanswered message before it stands in the same one, a blank line above.
    const message = call.request.messages.at(-1)?.content.split('\n\n').at(-1) ?? '';
    const take = takers.get(message) ?? onCall;
    takers.delete(message);
    take(call);
  };
  return (message) => new Promise((resolve) => takers.set(message, resolve));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = await Array.fromAsync(request);
  return Buffer.concat(chunks).toString();
}

function openCall(request: ModelCall['request'], response: ServerResponse): ModelCall {
  const open = () => {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  };
  const chunk = (fields: Record<string, unknown>) => {
    open();
    const payload = {
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: request.model,
      ...fields,
    };
    response.write(`data: ${JSON.stringify(payload)}\n\n`);
  };
  const finish = (reason: string, usage = { prompt_tokens: 11, completion_tokens: 7 }) => {
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
    chunk({ choices: [], usage: { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens } });
    response.end('data: [DONE]\n\n');
  };
  return {
    request,
    raw(text) {
      open();
      response.write(text);
    },
    end() {
      open();
      response.end();
    },
    piece: (content) =>
      chunk({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] }),
    finish: (usage) => finish('stop', usage),
    cut: (reason) => finish(reason),

    reset: () => response.destroy(),
    fail(status, headers = {}) {
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      response.end(JSON.stringify({ error: { message: `scripted ${status}`, type: 'scripted' } }));
    },
    gone: new Promise<void>((resolve) => {
      response.once('close', () => resolve());
    }),
  };
}
