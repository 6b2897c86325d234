import { randomUUID } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';

export interface Target {
  /** With `/api/v1`, except for the bare server. */
  baseUrl: string;
  apiKey: string;
  agentId: string;
}

/** The user of all chats. A chat with a user is also written to the user's lists, as in real use. */
export const externalUserId = 'bench';

export interface TimedReply {
  text: string;
  /** Milliseconds since the request. Only a stream has the first two. */
  firstByte: number;
  firstDelta: number;
  closed: number;
}

export interface BatchState {
  id: string;
  status: string;
  completed_requests: number;
  failed_requests: number;
}

export interface BatchResponse {
  custom_id: string;
  response_content: string | null;
  processed_at: string | null;
}

/** A request fails if its connection is idle for so long. */
const idleSeconds = 60;

interface RequestToSend {
  method: string;
  path: string;
  json?: unknown;
  form?: { body: Buffer; boundary: string };
  onText?: (text: string) => void;
}

/** The benchmark's client: plain `node:http` with keep-alive, so that the client itself adds little to a figure. */
export function loadClientOf(target: Target) {
  const { agentId } = target;
  const agent = new Agent({ keepAlive: true });
  const exchange = createExchange(target, agent);
  const send = async <Value>(method: string, path: string, json?: unknown): Promise<Value> =>
    JSON.parse(await exchange({ method, path, ...(json !== undefined && { json }) })) as Value;

  return {
    async createChat(): Promise<number> {
      const body = { name: 'Bench', agent_id: agentId, external_user_id: externalUserId };
      return (await send<{ data: { id: number } }>('POST', '/chats', body)).data.id;
    },

    /** @param onDelta called with the text of each delta when it arrives */
    async streamReply(
      chatId: number,
      message: string,
      onDelta: (text: string) => void = () => undefined,
    ): Promise<TimedReply> {
      const events = new EventTexts(onDelta);
      let firstByte = Number.NaN;
      let firstDelta = Number.NaN;
      const start = performance.now();
      await exchange({
        method: 'POST',
        path: `/chats/${chatId}/messages`,
        json: { message, agent_id: agentId, external_user_id: externalUserId, stream: true },
        onText(text) {
          const now = performance.now() - start;
          if (Number.isNaN(firstByte)) firstByte = now;
          if (events.read(text) && Number.isNaN(firstDelta)) firstDelta = now;
        },
      });
      const closed = performance.now() - start;
      if (!events.isWhole) throw new Error(`The stream ended early, after ${JSON.stringify(events.reply)}`);
      return { text: events.reply, firstByte, firstDelta, closed };
    },

    async sendPlain(chatId: number, message: string): Promise<TimedReply> {
      const start = performance.now();
      const { data } = await send<{ data: string }>('POST', `/chats/${chatId}/messages`, {
        message,
        agent_id: agentId,
        external_user_id: externalUserId,
        stream: false,
      });
      return { text: data, firstByte: Number.NaN, firstDelta: Number.NaN, closed: performance.now() - start };
    },

    /** @returns milliseconds until the response was complete */
    async upload(content: Buffer): Promise<number> {
      const form = formOf(content);
      const start = performance.now();
      const response = await exchange({ method: 'POST', path: '/chats/upload-file', form });
      const took = performance.now() - start;
      const { size } = (JSON.parse(response) as { data: { size: number } }).data;
      if (size !== content.length) throw new Error(`Only ${size} of ${content.length} bytes have arrived`);
      return took;
    },

    async submitBatch(requests: { custom_id: string; message: string }[]): Promise<BatchState> {
      return (await send<{ data: BatchState }>('POST', '/batches', { agent_id: agentId, requests })).data;
    },
    async readBatch(id: string): Promise<BatchState> {
      return (await send<{ data: BatchState }>('GET', `/batches/${id}`)).data;
    },
    async readResults(id: string): Promise<BatchResponse[]> {
      return (await send<{ data: BatchResponse[] }>('GET', `/batches/${id}/results?limit=1000`)).data;
    },

    /** @returns the number of items on the page, and milliseconds until it was read */
    async readPage(path: string): Promise<{ count: number; total: number; took: number }> {
      const start = performance.now();
      const text = await exchange({ method: 'GET', path });
      const took = performance.now() - start;
      const { data, pagination } = JSON.parse(text) as {
        data: unknown[];
        pagination: { total_records: number };
      };
      return { count: data.length, total: pagination.total_records, took };
    },

    close: () => agent.destroy(),
  };
}

function formOf(content: Buffer): { body: Buffer; boundary: string } {
  const boundary = `bench-${randomUUID()}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="bench.txt"\r\nContent-Type: text/plain\r\n\r\n`;
  const body = Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return { body, boundary };
}

/** Returns a function that sends a request and returns the response's body, or throws unless its status is 2xx. */
function createExchange({ baseUrl, apiKey }: Target, agent: Agent) {
  return ({ method, path, json, form, onText }: RequestToSend): Promise<string> => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const body = form?.body ?? (json === undefined ? undefined : JSON.stringify(json));
    const type = form ? `multipart/form-data; boundary=${form.boundary}` : 'application/json';
    const call = httpRequest(baseUrl + path, {
      method,
      agent,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }),
      },
    });
    call.setTimeout(idleSeconds * 1000, () =>
      call.destroy(new Error(`${method} ${path} was idle for ${idleSeconds} s`)),
    );
    call.on('error', reject);
    call.on('response', (response) => {
      const { statusCode = 0 } = response;
      const isGood = statusCode >= 200 && statusCode < 300;
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          if (isGood && onText !== undefined) onText(chunk);
          else text += chunk;
        })
        .on('end', () => {
          if (isGood) resolve(text);
          else reject(new Error(`${method} ${path} got the response ${statusCode}: ${text.slice(0, 300)}`));
        })
        .on('error', reject);
    });
    call.end(body);
    return promise;
  };
}

export type LoadClient = ReturnType<typeof loadClientOf>;

/** Joins the deltas of an event stream, whose network chunks may end inside an event. */
class EventTexts {
  reply = '';
  isWhole = false;
  #rest = '';
  readonly #onDelta: (text: string) => void;

  constructor(onDelta: (text: string) => void) {
    this.#onDelta = onDelta;
  }

  /** @returns whether the text completed a delta */
  read(text: string): boolean {
    this.#rest += text;
    const before = this.reply.length;
    for (let end = this.#rest.indexOf('\n\n'); end >= 0; end = this.#rest.indexOf('\n\n')) {
      const event = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 2);
      if (event === 'data: [DONE]') this.isWhole = true;
      if (!event.startsWith('event: response.output_text.delta\n')) continue;
      const payload = event.slice(event.indexOf('\ndata: ') + '\ndata: '.length);
      const { delta } = JSON.parse(payload) as { delta: string };
      this.reply += delta;
      this.#onDelta(delta);
    }
    return this.reply.length > before;
  }
}
