import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as after } from 'node:timers/promises';
import { seededRandom } from '#support/seeded-random.ts';
import { endWithInput } from './child-program.ts';
import { chunksOfReply, chunksPerReply, replyTo } from './reply-text.ts';

/** Milliseconds between a call and its first chunk, and between two chunks. With `chunk` 0 a reply is one write. */
export interface Pace {
  first: number;
  chunk: number;
  /** `first` has a log-normal distribution with this mean (milliseconds). */
  logNormal?: { mean: number; p99OverMedian: number; seed: number };
  /** Each chunk tells when it was sent: ` @` and epoch milliseconds. */
  stamped?: boolean;
  /** Chunks of a reply; by default those of `chunksOfReply`. */
  chunks?: number;
}

export interface ProviderCounts {
  /** Model calls since the start. */
  calls: number;
}

/** A call with a log-normal time: its start and end in epoch milliseconds; `given` is the time that it was to take. */
export interface CallTimes {
  message: string;
  start: number;
  end: number;
  given: number;
}

interface CompletionRequest {
  model: string;
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  messages: { role: string; content: string }[];
}

// A model provider in its own process, so that its work does not count as the server's. It serves OpenAI's chat
// completions, at once or at a pace. `PUT /pace` sets the pace, `GET /counts` returns the number of calls, `GET /times`
// their starts and ends.
let pace: Pace = { first: 0, chunk: 0 };
let nextReplyTime = (): number => pace.first;
/** The calls since the pace was set. */
let times: CallTimes[] = [];
const counts: ProviderCounts = { calls: 0 };

const usage = { prompt_tokens: 10, completion_tokens: chunksPerReply, total_tokens: 10 + chunksPerReply };

const server = createServer((request, response) => {
  respond(request.method, request.url, request).catch((error: unknown) => {
    response.writeHead(400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: { message: String(error), type: 'invalid_request_error' } }));
  });

  async function respond(method = '', url = '', body: NodeJS.ReadableStream): Promise<void> {
    const requestText = await text(body);
    if (method === 'GET' && url === '/counts') return json(response, counts);
    if (method === 'GET' && url === '/times') return json(response, times);
    if (method === 'PUT' && url === '/pace') return json(response, setPace(JSON.parse(requestText) as Pace));
    if (method !== 'POST' || url !== '/v1/chat/completions')
      throw new Error(`No such route: ${method} ${url}`);
    counts.calls += 1;
    const completion = JSON.parse(requestText) as CompletionRequest;
    await (completion.stream ? stream : whole)(response, completion);
  }
});

function setPace(given: Pace): Pace {
  pace = given;
  nextReplyTime = given.logNormal === undefined ? () => given.first : logNormalTimes(given.logNormal);
  times = [];
  return pace;
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

const lastMessage = ({ messages }: CompletionRequest): string => messages.at(-1)?.content ?? '';

async function whole(response: ServerResponse, completion: CompletionRequest): Promise<void> {
  const wait = pace.first + pace.chunk * (chunksPerReply - 1);
  if (wait > 0) await after(wait);
  const message = { role: 'assistant', content: replyTo(lastMessage(completion)) };
  json(response, {
    id: `call-${counts.calls}`,
    object: 'chat.completion',
    created: 1,
    model: completion.model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  });
}

/** Remembered only if replies take different times. */
function startedCall(message: string, given: number): CallTimes {
  const call = { message, start: Date.now(), end: Number.POSITIVE_INFINITY, given };
  if (pace.logNormal !== undefined) times.push(call);
  return call;
}

async function stream(response: ServerResponse, completion: CompletionRequest): Promise<void> {
  const header = {
    id: `call-${counts.calls}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: completion.model,
  };
  const event = (fields: Record<string, unknown>) => `data: ${JSON.stringify({ ...header, ...fields })}\n\n`;
  const delta = (fields: Record<string, unknown>, finish: string | null) =>
    event({ choices: [{ index: 0, delta: fields, finish_reason: finish }] });
  const end =
    delta({}, 'stop') +
    (completion.stream_options?.include_usage ? event({ choices: [], usage }) : '') +
    'data: [DONE]\n\n';
  const { chunk, stamped, chunks: count } = pace;
  const first = nextReplyTime();
  const call = startedCall(lastMessage(completion), first);
  if (stamped) {
    await after(first);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (let index = 0; index < (count ?? chunksPerReply) && !response.destroyed; index += 1) {
      if (index > 0) await after(chunk);
      response.write(delta({ role: 'assistant', content: ` @${Date.now()}` }, null));
    }
    return void response.end(end);
  }
  const chunks = chunksOfReply(lastMessage(completion)).map((content) =>
    delta({ role: 'assistant', content }, null),
  );
  if (first > 0) await after(first);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  if (chunk === 0) {
    response.end(chunks.join('') + end);
    call.end = Date.now();
    return;
  }
  for (const [index, text] of chunks.entries()) {
    if (index > 0) await after(chunk);
    response.write(text);
  }
  response.end(end);
}

/** The 99th percentile of a standard normal variable. */
const normal99 = 2.3263;

function logNormalTimes({ mean, p99OverMedian, seed }: NonNullable<Pace['logNormal']>): () => number {
  const random = seededRandom(seed);
  const sigma = Math.log(p99OverMedian) / normal99;
  const median = mean / Math.exp(sigma ** 2 / 2);
  return () => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return median * Math.exp(sigma * normal);
  };
}

server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
endWithInput();
