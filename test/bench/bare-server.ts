import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { openBareStore } from './bare-store.ts';
import { eachAtOnce } from './each-at-once.ts';
import { eventReader, httpExchange } from './http-exchange.ts';
import { serve } from './serve.ts';
import { width } from './sizes.ts';

// The least that a server needs for the same work: one process, node:http and node:sqlite, without checks, limits,
// retries and tenants. It has only those parts of the interface that the benchmark uses.
const { folder, model } = JSON.parse(process.argv[2] ?? '') as { folder: string; model: string };
const store = openBareStore(folder);
const { exchange } = httpExchange(model);
const now = () => new Date().toISOString();

/** The model's reply. With `onChunk` the call is streamed. */
async function callModel(messages: unknown, onChunk?: (chunk: string) => void): Promise<string> {
  const json = { model: 'scripted', stream: onChunk !== undefined, messages };
  if (onChunk === undefined)
    return JSON.parse(await exchange('POST', '/chat/completions', { json })).choices[0].message.content;
  let reply = '';
  const onText = eventReader((event) => {
    if (event === 'data: [DONE]') return;
    const chunk: unknown = JSON.parse(event.slice('data: '.length)).choices[0]?.delta.content;
    if (typeof chunk !== 'string') return;
    reply += chunk;
    onChunk(chunk);
  });
  await exchange('POST', '/chat/completions', { json, onText });
  return reply;
}

/** One turn: it stores the question, calls the model with the chat so far, and stores the reply. */
async function respond(chat: number, message: string, onChunk?: (chunk: string) => void): Promise<string> {
  const count = store.messagesOf(chat);
  store.addMessage.run(chat, count + 1, 'user', message, now());
  const history = store.messagesBetween.all(chat, Math.max(1, count - 38), count + 1);
  const reply = await callModel(
    history.map(({ role, content }) => ({ role, content })),
    onChunk,
  );
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

function createBatch(requests: Body['requests']): Record<string, unknown> {
  const id = randomUUID();
  store.transact(() => {
    store.addBatch.run(id, requests.length, now());
    for (const [position, { custom_id, message }] of requests.entries())
      store.addRequest.run(id, position, custom_id, message);
  });
  // The work starts after the response has been sent.
  setImmediate(() =>
    eachAtOnce(width, requests.entries(), async ([position, { message }]) => {
      const reply = await respond(createChat('Batch'), message);
      store.transact(() => {
        store.endRequest.run(reply, now(), id, position);
        store.countRequest.run(id);
      });
    }).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    }),
  );
  return { id };
}

function readBatch(id: string): Record<string, unknown> {
  const { total, ended } = store.batch.get(id) ?? {};
  return { id, status: ended === total ? 'completed' : 'in_progress', completed_requests: ended };
}

const readResults = (id: string, { limit, offset }: Page): unknown =>
  store.requests.all(id, limit, offset).map(({ custom_id, reply, at }) => ({
    ...{ custom_id, response_content: reply, processed_at: at },
    status: reply === null ? 'pending' : 'success',
  }));

interface Page {
  limit: number;
  offset: number;
}

/** Ids and positions are dense, so a page is a range, as in the service. */
function listChats({ limit, offset }: Page): Listed {
  const total = Number(store.newestChat.get()?.id ?? 0);
  const data = store.chatsBetween.all(total - offset - limit + 1, total - offset);
  return { data, pagination: { limit, offset, total_records: total } };
}

function listMessages(chat: number, { limit, offset }: Page): Listed {
  const total = store.messagesOf(chat);
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

/** The fields of all requests. */
interface Body {
  name: string;
  message: string;
  stream: boolean;
  requests: { custom_id: string; message: string }[];
}

interface Call {
  id: string;
  page: Page;
  request: IncomingMessage;
  response: ServerResponse;
  body(): Promise<Body>;
}

interface Listed {
  data: unknown;
  pagination?: Page & { total_records: number };
}

const routes: [route: RegExp, handle: (call: Call) => Promise<Listed | undefined>][] = [
  [/^POST \/chats$/, async ({ body }) => ({ data: { id: createChat((await body()).name) } })],
  [/^GET \/chats$/, async ({ page }) => listChats(page)],
  [
    /^POST \/chats\/(\d+)\/messages$/,
    async ({ id, body, response }) => {
      const { message, stream: isStreamed } = await body();
      if (!isStreamed) return { data: await respond(Number(id), message) };
      await stream(response, Number(id), message);
      return undefined;
    },
  ],
  [/^GET \/chats\/(\d+)\/messages$/, async ({ id, page }) => listMessages(Number(id), page)],
  [/^POST \/chats\/upload-file$/, async ({ request }) => ({ data: await upload(request) })],
  [/^POST \/batches$/, async ({ body }) => ({ data: createBatch((await body()).requests) })],
  [/^GET \/batches\/([^/]+)$/, async ({ id }) => ({ data: readBatch(id) })],
  [/^GET \/batches\/([^/]+)\/results$/, async ({ id, page }) => ({ data: readResults(id, page) })],
];

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://bare');
  const page = {
    limit: Number(searchParams.get('limit') ?? 50),
    offset: Number(searchParams.get('offset') ?? 0),
  };
  const body = async (): Promise<Body> => JSON.parse(await text(request));
  for (const [route, respondTo] of routes) {
    const match = route.exec(`${request.method} ${pathname}`);
    if (match === null) continue;
    const content = await respondTo({ id: match[1] ?? '', page, request, response, body });
    if (content === undefined) return;
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ message: null, error_code: 0, ...content }));
    return;
  }
  throw new Error(`No such route: ${request.method} ${pathname}`);
}

serve(
  createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (response.headersSent) return void response.destroy();
      response.writeHead(500, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ data: null, message: String(error), error_code: 10005 }));
    });
  }),
);
