import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import type { ApiResponse } from './client.ts';
import type { OpenTenant } from './open-tenant.ts';
import { historyOf } from './turns.ts';

/** A request that a client may retry under an idempotency key. */
export interface KeyedRequest {
  path: string;
  body: Record<string, unknown>;
  /** How often the service has done the request's work. */
  timesDone: () => Promise<number>;
}

/** One request for each route that takes the header Idempotency-Key. */
export const keyedRequests: Readonly<Record<string, (tenant: OpenTenant) => Promise<KeyedRequest>>> = {
  'POST /chats': async ({ client, agentId }) => ({
    path: '/chats',
    body: { name: 'Only once', agent_id: agentId, external_user_id: 'ada@home' },
    timesDone: async () => {
      const totals = await Promise.all(
        ['', `&agent_id=${agentId}`].map(async (query) => {
          const { body } = await client.get(`/chats?limit=1&external_user_id=ada@home${query}`);
          return body.pagination?.total_records ?? -1;
        }),
      );
      expect(new Set(totals).size).toBe(1);
      return totals[0] ?? -1;
    },
  }),
  'POST /batches': async ({ client, agentId }) => ({
    path: '/batches',
    body: { agent_id: agentId, requests: [{ custom_id: 'a', message: 'Only one' }] },
    timesDone: async () => (await client.get('/batches?limit=1')).body.pagination?.total_records ?? -1,
  }),
  'POST /chats/{chat_id}/messages': async ({ client, agentId, createChat }) => {
    const { id } = await createChat();
    return {
      path: `/chats/${id}/messages`,
      body: { message: 'Only once', agent_id: agentId, stream: false },
      timesDone: async () =>
        (await historyOf(client, id)).filter(
          ({ role, content }) => role === 'user' && content === 'Only once',
        ).length,
    };
  },
};

export const postWithKey = <Data = unknown>(
  { client }: Pick<OpenTenant, 'client'>,
  { path, body }: Pick<KeyedRequest, 'path' | 'body'>,
  key: string,
): Promise<ApiResponse<Data>> => client.post<Data>(path, body, { headers: { 'Idempotency-Key': key } });

export const isReplayed = ({ headers }: ApiResponse): boolean =>
  headers.get('idempotency-replayed') === 'true';

/** The table key of the idempotency record of an idempotency key. */
export const itemOf = ({ workspaceId }: { workspaceId: string }, key: string) =>
  keys.idempotencyKey(workspaceId, createHash('sha256').update(key).digest('base64url'));
