import type { ChatResource } from '#contract/chat.ts';
import type { MessageResource } from '#contract/message.ts';
import { type ApiResponse, clientOf } from './client.ts';
import { createTenant, type Service, type Tenant } from './service.ts';

/** A response in one line, such as `404/10003 Chat not found`. */
export const summaryOf = ({ status, body }: ApiResponse): string =>
  `${status}/${body.error_code} ${body.message ?? 'success'}`;

/** @throws Error with the response's summary if its status is not a success */
export function dataOf<Data>(response: ApiResponse<Data>): Data {
  if (response.status >= 300) throw new Error(`Rejected: ${summaryOf(response)}`);
  return response.body.data;
}

/** The body of a list without items, if the request names no page. */
export const emptyList = {
  data: [],
  message: null,
  error_code: 0,
  pagination: {
    limit: 50,
    offset: 0,
    total_records: 0,
    total_pages: 0,
    current_page: 1,
    next_page: null,
    prev_page: null,
  },
};

/** A new tenant, with a client and the calls with which most tests start. */
export async function openTenant(service: Service, options?: Parameters<typeof createTenant>[0]) {
  const tenant: Tenant = await createTenant(options);
  const client = clientOf(service, tenant);
  return {
    ...tenant,
    client,
    /** @throws Error if the request is rejected */
    createChat: async (fields: Record<string, unknown> = {}): Promise<ChatResource> =>
      dataOf(
        await client.post<ChatResource>('/chats', { name: 'A chat', agent_id: tenant.agentId, ...fields }),
      ),
    /** Sends to the chat's own agent as the chat's own user, without a stream, unless the fields say otherwise. */
    send: (chat: ChatResource, fields: Record<string, unknown> = {}): Promise<ApiResponse<string>> =>
      client.post<string>(`/chats/${chat.id}/messages`, {
        message: 'Hello',
        stream: false,
        agent_id: chat.meta.conversation_agent_id,
        ...(chat.external_user_id !== null && { external_user_id: chat.external_user_id }),
        ...fields,
      }),
    /** @throws Error if the request is rejected */
    history: async (chat: ChatResource, user = chat.external_user_id ?? 'reader') =>
      dataOf(
        await client.get<MessageResource[]>(
          `/chats/${chat.id}/messages?external_user_id=${encodeURIComponent(user)}&limit=1000`,
        ),
      ),
  };
}

export type OpenTenant = Awaited<ReturnType<typeof openTenant>>;
