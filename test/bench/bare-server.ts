import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { openBareStore } from './bare-store.ts';
import { callModel } from './call-model.ts';
import { endWithInput } from './child-program.ts';
import { width } from './sizes.ts';

// The least that a server needs for the same work: one process, node:http and node:sqlite, without checks, limits,
// retries and tenants. It has only those parts of the interface that the benchmark uses.
const { folder, model } = JSON.parse(process.argv[2] ?? '') as { folder: string; model: string };
const store = openBareStore(folder);
const now = () => new Date().toISOString();

interface StoredMessage {
  position: number;
  role: string;
  content: string;
}

/** One turn: it stores the question, calls the model with the chat so far, and stores the reply. */
async function respond(chat: number, message: string, onChunk?: (chunk: string) => void): Promise<string> {
  const count = store.chat.get<{ messages: number }>(chat)?.messages ?? 0;
  store.addMessage.run(chat, count + 1, 'user', message, now());
  const history = store.messagesBetween.all<StoredMessage>(chat, Math.max(1, count - 38), count + 1);
  const messages = history.map(({ role, content }) => ({ role, content }));
  const reply = await callModel(model, messages, onChunk);
  store.transact(() => {
    store.addMessage.run(chat, count + 2, 'assistant', reply, now());
    store.countMessages.run(count + 2, chat);
  });
  return reply;
}

const createChat = (name: string): number => Number(store.addChat.run(name, now()).lastInsertRowid);

async function stream(response: ServerResponse, chat: number, message: string): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  response.write(': ping\n\n');
  const response_id = randomUUID();
  let sequence_number = 0;
  const send = (type: string, fields: Record<string, unknown>) => {
    const payload = { type, response_id, chat_id: chat, sequence_number, ...fields };
    response.write(`event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`);
    sequence_number += 1;
  };
  send('response.created', { model: 'bare' });
  const reply = await respond(chat, message, (delta) => send('response.output_text.delta', { delta }));
  send('response.output_text.completed', { final_text: reply });
  response.end('data: [DONE]\n\n');
}

interface BatchBody {
  requests: { custom_id: string; message: string }[];
}

function createBatch({ requests }: BatchBody): Record<string, unknown> {
  const id = randomUUID();
  store.transact(() => {
    store.addBatch.run(id, requests.length, now());
    for (const [position, { custom_id, message }] of requests.entries())
      store.addRequest.run(id, position, custom_id, message);
  });
  let next = 0;
  const work = async () => {
    for (let position = next++; position < requests.length; position = next++) {
      const { message = '' } = requests[position] ?? {};
      const reply = await respond(createChat('Batch'), message);
      store.transact(() => {
        store.endRequest.run(reply, now(), id, position);
        store.countRequest.run(id);
      });
    }
  };
  // The work starts after the response has been sent.
  setImmediate(() => {
    for (let worker = 0; worker < width; worker += 1)
      work().catch((error: unknown) => {
        console.error(error);
        process.exit(1);
      });
  });
  return readBatch(id);
}

function readBatch(id: string): Record<string, unknown> {
  const batch = store.batch.get<{ total: number; ended: number }>(id);
  if (batch === undefined) throw new Error('Batch not found');
  return {
    id,
    status: batch.ended === batch.total ? 'completed' : 'in_progress',
    total_requests: batch.total,
    completed_requests: batch.ended,
    failed_requests: 0,
  };
}

const readResults = (id: string, query: URLSearchParams): Record<string, unknown>[] =>
  store.requests
    .all<{ custom_id: string; reply: string | null; at: string | null }>(
      id,
      Number(query.get('limit') ?? 50),
      Number(query.get('offset') ?? 0),
    )
    .map(({ custom_id, reply, at }) => ({
      custom_id,
      status: reply === null ? 'pending' : 'success',
      response_content: reply,
      processed_at: at,
    }));

/** Ids and positions are dense, so a page is a range, as in the service. */
function page(query: URLSearchParams): { limit: number; offset: number } {
  return { limit: Number(query.get('limit') ?? 50), offset: Number(query.get('offset') ?? 0) };
}

function listChats(query: URLSearchParams): unknown {
  const { limit, offset } = page(query);
  const total = store.newestChat.get<{ id: number | null }>()?.id ?? 0;
  const data = store.chatsBetween.all(total - offset - limit + 1, total - offset);
  return { data, pagination: { limit, offset, total_records: total } };
}

function listMessages(chat: number, query: URLSearchParams): unknown {
  const { limit, offset } = page(query);
  const total = store.chat.get<{ messages: number }>(chat)?.messages ?? 0;
  const data = store.messagesBetween.all(chat, offset + 1, Math.min(offset + limit, total));
  return { data, pagination: { limit, offset, total_records: total } };
}

async function upload(request: IncomingMessage): Promise<unknown> {
  const form = Busboy({ headers: request.headers as { 'content-type': string } });
  const storedFile = Promise.withResolvers<unknown>();
  form.on('file', (_field, file, name) => {
    const uuid = randomUUID();
    let size = 0;
    file.on('data', (chunk: Buffer) => {
      size += chunk.length;
    });
    pipeline(file, createWriteStream(join(folder, uuid))).then(() => {
      store.addFile.run(uuid, name, size, now());
      storedFile.resolve({ uuid, original_name: name, size });
    }, storedFile.reject);
  });
  await pipeline(request, form);
  return storedFile.promise;
}

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL, id: string) => Promise<unknown>;

const body = async (request: IncomingMessage) => JSON.parse(await text(request)) as Record<string, unknown>;
const data = (value: unknown) => ({ data: value });

const routes: [method: string, path: RegExp, status: number, handler: Handler][] = [
  ['POST', /^\/chats$/, 200, async (request) => data({ id: createChat(String((await body(request)).name)) })],
  ['GET', /^\/chats$/, 200, async (_request, _response, url) => listChats(url.searchParams)],
  [
    'POST',
    /^\/chats\/(\d+)\/messages$/,
    200,
    async (request, response, _url, id) => {
      const { message, stream: streamed } = await body(request);
      if (streamed === false) return data(await respond(Number(id), String(message)));
      return stream(response, Number(id), String(message));
    },
  ],
  [
    'GET',
    /^\/chats\/(\d+)\/messages$/,
    200,
    async (_request, _response, url, id) => listMessages(Number(id), url.searchParams),
  ],
  ['POST', /^\/chats\/upload-file$/, 200, async (request) => data(await upload(request))],
  [
    'POST',
    /^\/batches$/,
    202,
    async (request) => data(createBatch((await body(request)) as unknown as BatchBody)),
  ],
  ['GET', /^\/batches\/([^/]+)$/, 200, async (_request, _response, _url, id) => data(readBatch(id))],
  [
    'GET',
    /^\/batches\/([^/]+)\/results$/,
    200,
    async (_request, _response, url, id) => data(readResults(id, url.searchParams)),
  ],
];

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '', 'http://bare');
  const respondToRequest = async () => {
    for (const [method, path, status, handler] of routes) {
      const match = path.exec(url.pathname);
      if (match === null || method !== request.method) continue;
      const content = await handler(request, response, url, match[1] ?? '');
      if (response.headersSent) return;
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ message: null, error_code: 0, ...(content as object) }));
      return;
    }
    throw new Error(`No such route: ${request.method} ${url.pathname}`);
  };
  respondToRequest().catch((error: unknown) => {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.writeHead(500, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ data: null, message: String(error), error_code: 10005 }));
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
endWithInput();
