import { createServer, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as after } from 'node:timers/promises';
import { seededRandom } from '#support/seeded-random.ts';
import { chunksOfReply, chunksPerReply, replyTo } from './reply-text.ts';
import { serve } from './serve.ts';

/** Milliseconds between a call and its first chunk, and between two chunks. With `chunk` 0 a reply is one write. */
export interface Pace {
  first: number;
  chunk: number;
  /** `first` has a log-normal distribution with this mean (milliseconds). */
  logNormal?: { mean: number; p99OverMedian: number; seed: number };
  /** A reply has so many chunks, and each tells when it was sent: ` @` and epoch milliseconds. */
  stampedChunks?: number;
}

/** The start and the end of a call in epoch milliseconds; `given` is the time that it was to take. */
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
// completions, at once or at a pace. `PUT /pace` sets the pace, `GET /calls` returns the calls since then.
let pace: Pace = { first: 0, chunk: 0 };
let nextReplyTime = (): number => pace.first;
let calls: CallTimes[] = [];

const usage = { prompt_tokens: 10, completion_tokens: chunksPerReply, total_tokens: 10 + chunksPerReply };

const server = createServer((request, response) => {
  const respond = async (): Promise<void> => {
    const requestText = await text(request);
    const route = `${request.method} ${request.url}`;
    if (route === 'POST /v1/chat/completions') return complete(response, JSON.parse(requestText));
    if (route === 'PUT /pace') setPace(JSON.parse(requestText) as Pace);
    else if (route !== 'GET /calls') throw new Error(`No such route: ${route}`);
    json(response, calls);
  };
  respond().catch((error: unknown) => {
    json(response, { error: { message: String(error), type: 'invalid_request_error' } }, 400);
  });
});

function setPace(given: Pace): void {
  pace = given;
  nextReplyTime = given.logNormal === undefined ? () => given.first : logNormalTimes(given.logNormal);
  calls = [];
}

function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(body));
}

async function complete(response: ServerResponse, completion: CompletionRequest): Promise<void> {
  const message = completion.messages.at(-1)?.content ?? '';
  const call = { message, start: Date.now(), end: Number.POSITIVE_INFINITY, given: nextReplyTime() };
  calls.push(call);
  const header = { id: `call-${calls.length}`, created: 1, model: completion.model };
  if (completion.stream) await stream(response, completion, header, call);
  else {
    const wait = call.given + pace.chunk * (chunksPerReply - 1);
    if (wait > 0) await after(wait);
    const choice = { message: { role: 'assistant', content: replyTo(message) }, finish_reason: 'stop' };
    json(response, { ...header, object: 'chat.completion', choices: [{ index: 0, ...choice }], usage });
  }
  call.end = Date.now();
}

async function stream(
  response: ServerResponse,
  { stream_options }: CompletionRequest,
  header: Record<string, unknown>,
  { message, given: first }: CallTimes,
): Promise<void> {
  const { chunk, stampedChunks } = pace;
  const event = (fields: Record<string, unknown>) =>
    `data: ${JSON.stringify({ ...header, object: 'chat.completion.chunk', ...fields })}\n\n`;
  const delta = (content = ` @${Date.now()}`) =>
    event({ choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] });
  const usageEvent = stream_options?.include_usage ? event({ choices: [], usage }) : '';
  const stop = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  const end = `${stop}${usageEvent}data: [DONE]\n\n`;
  const contents =
    stampedChunks === undefined
      ? chunksOfReply(message)
      : Array.from({ length: stampedChunks }, () => undefined);
  const whole = chunk === 0 ? contents.map((content) => delta(content)).join('') + end : '';
  if (first > 0) await after(first);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  if (chunk === 0) {
    response.end(whole);
    return;
  }
  for (const [index, content] of contents.entries()) {
    if (index > 0) await after(chunk);
    if (response.destroyed) return;
    response.write(delta(content));
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

serve(server);
