import { expect } from 'vitest';
import { eventOf } from '#contract/events.ts';
import type { Client } from './client.ts';
import type { Tenant } from './service.ts';
import { createChat } from './turns.ts';

/** The texts of a stream of events, each with its blank line; keep-alive comments are left out. */
export async function* textsOf(response: Response): AsyncGenerator<string> {
  // An event may have megabytes, so its parts are joined only at its end.
  let parts: string[] = [];
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const part = decoder.decode(chunk, { stream: true });
    const isEnd = part.includes('\n\n') || (part.startsWith('\n') && parts.at(-1)?.endsWith('\n') === true);
    parts.push(part);
    if (!isEnd) continue;
    const text = parts.join('');
    const blocks = text.split(/(?<=\n\n)/);
    parts = text.endsWith('\n\n') ? [] : blocks.splice(-1);
    for (const block of blocks) if (!block.startsWith(':')) yield block;
  }
}

export const allOf = (texts: Response | AsyncIterable<string>): Promise<string[]> =>
  Array.fromAsync(texts instanceof Response ? textsOf(texts) : texts);

/** The next texts. */
export async function take(texts: AsyncIterator<string>, count: number): Promise<string[]> {
  const taken: string[] = [];
  while (taken.length < count) taken.push(String((await texts.next()).value));
  return taken;
}

export const pathOf = (chatId: number, responseId: string, after?: number): string =>
  `/chats/${chatId}/stream?response_id=${responseId}${after === undefined ? '' : `&starting_after=${after}`}`;

/** Starts and resumes the streams of a tenant. */
export function streamsOf({ client, tenant }: { client: Client; tenant: Pick<Tenant, 'agentId'> }) {
  return {
    /** Starts a resumable reply, and reads its first event. */
    async start(
      message: string,
      {
        chatId,
        agentId = tenant.agentId,
        headers = {},
      }: { chatId?: number; agentId?: string; headers?: Record<string, string> } = {},
    ) {
      const chat = chatId ?? (await createChat(client, { agentId }));
      const body = { message, agent_id: agentId, resumable: true };
      const response = await client.request('POST', `/chats/${chat}/messages`, { body, headers });
      expect(response.status).toBe(200);
      const texts = textsOf(response);
      const [first = ''] = await take(texts, 1);
      return { chatId: chat, response, texts, first, responseId: eventOf(first).response_id };
    },
    async resume(...names: Parameters<typeof pathOf>): Promise<Response> {
      const response = await client.request('GET', pathOf(...names));
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      return response;
    },
  };
}
