import { randomUUID } from 'node:crypto';
import { eventReader, httpExchange } from './http-exchange.ts';

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

export interface BatchResult {
  custom_id: string;
  response_content: string | null;
}

const deltaEvent = 'event: response.output_text.delta\ndata: ';

/** The benchmark's client of one server. */
export function loadClientOf({ baseUrl, apiKey, agentId }: Target) {
  const { exchange, close } = httpExchange(baseUrl, { 'x-api-key': apiKey });
  const user = { agent_id: agentId, external_user_id: externalUserId };
  const dataOf = async <Data>(method: string, path: string, json?: unknown): Promise<Data> =>
    (JSON.parse(await exchange(method, path, { json })) as { data: Data }).data;

  return {
    createChat: async (): Promise<number> =>
      (await dataOf<{ id: number }>('POST', '/chats', { name: 'Bench', ...user })).id,

    /** @param onDelta called with the text of each delta when it arrives */
    async streamReply(
      chatId: number,
      message: string,
      onDelta: (text: string) => void = () => undefined,
    ): Promise<TimedReply> {
      const reply = { text: '', firstByte: Number.NaN, firstDelta: Number.NaN };
      let isWhole = false;
      const read = eventReader((event) => {
        if (event === 'data: [DONE]') isWhole = true;
        if (!event.startsWith(deltaEvent)) return;
        const { delta } = JSON.parse(event.slice(deltaEvent.length)) as { delta: string };
        reply.text += delta;
        onDelta(delta);
      });
      const start = performance.now();
      const json = { message, stream: true, ...user };
      const onText = (text: string): void => {
        const now = performance.now() - start;
        if (Number.isNaN(reply.firstByte)) reply.firstByte = now;
        read(text);
        if (Number.isNaN(reply.firstDelta) && reply.text !== '') reply.firstDelta = now;
      };
      await exchange('POST', `/chats/${chatId}/messages`, { json, onText });
      const closed = performance.now() - start;
      if (!isWhole) throw new Error(`The stream ended early, after ${JSON.stringify(reply.text)}`);
      return { ...reply, closed };
    },

    async sendPlain(chatId: number, message: string): Promise<TimedReply> {
      const start = performance.now();
      const json = { message, stream: false, ...user };
      const text = await dataOf<string>('POST', `/chats/${chatId}/messages`, json);
      return { text, firstByte: Number.NaN, firstDelta: Number.NaN, closed: performance.now() - start };
    },

    /** @returns milliseconds until the response was complete */
    async upload(content: Buffer): Promise<number> {
      const form = formOf(content);
      const start = performance.now();
      const response = await exchange('POST', '/chats/upload-file', { form });
      const took = performance.now() - start;
      const { size } = (JSON.parse(response) as { data: { size: number } }).data;
      if (size !== content.length) throw new Error(`Only ${size} of ${content.length} bytes have arrived`);
      return took;
    },

    submitBatch: async (requests: { custom_id: string; message: string }[]): Promise<string> =>
      (await dataOf<{ id: string }>('POST', '/batches', { agent_id: agentId, requests })).id,
    batchStatus: async (id: string): Promise<string> =>
      (await dataOf<{ status: string }>('GET', `/batches/${id}`)).status,
    readResults: (id: string): Promise<BatchResult[]> => dataOf('GET', `/batches/${id}/results?limit=1000`),

    /** @returns the number of items on the page and in the list, and milliseconds until the page was read */
    async readPage(path: string): Promise<{ count: number; total: number; took: number }> {
      const start = performance.now();
      const text = await exchange('GET', path);
      const took = performance.now() - start;
      const page = JSON.parse(text) as { data: unknown[]; pagination: { total_records: number } };
      return { count: page.data.length, total: page.pagination.total_records, took };
    },

    close,
  };
}

export type LoadClient = ReturnType<typeof loadClientOf>;

function formOf(content: Buffer): { body: Buffer; boundary: string } {
  const boundary = `bench-${randomUUID()}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="bench.txt"\r\nContent-Type: text/plain\r\n\r\n`;
  return {
    body: Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    boundary,
  };
}
