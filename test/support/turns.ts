import { expect } from 'vitest';
import type { StreamEvent } from '#contract/events.ts';
import type { MessageResource } from '#contract/message.ts';
import type { Client, EventReader } from './client.ts';
import type { ModelCall } from './scripted-model.ts';
import type { Tenant } from './service.ts';

/** Creates a chat with the tenant's agent. */
export async function createChat(
  client: Client,
  tenant: Pick<Tenant, 'agentId'>,
  fields: Record<string, unknown> = {},
): Promise<number> {
  const { status, body } = await client.post<{ id: number }>('/chats', {
    name: 'Chat',
    agent_id: tenant.agentId,
    ...fields,
  });
  expect(status, body.message ?? '').toBe(200);
  return body.data.id;
}

/** Sends with `stream: false`. */
export const send = (
  client: Client,
  tenant: Pick<Tenant, 'agentId'>,
  chatId: number,
  message: string,
  fields: Record<string, unknown> = {},
) =>
  client.post<string>(`/chats/${chatId}/messages`, {
    message,
    agent_id: tenant.agentId,
    stream: false,
    ...fields,
  });

/**
 * The whole history, oldest first. It also checks that the history is consistent: the total is the number of messages,
 * roles alternate and begin with `user`, both messages of a turn have the same `group_id`, and ids rise.
 */
export async function historyOf(
  client: Pick<Client, 'get'>,
  chatId: number,
  user = 'anyone',
): Promise<MessageResource[]> {
  const messages: MessageResource[] = [];
  for (let total = 1; messages.length < total; ) {
    const { status, body } = await client.get<MessageResource[]>(
      `/chats/${chatId}/messages?external_user_id=${user}&limit=1000&offset=${messages.length}`,
    );
    expect(status, body.message ?? '').toBe(200);
    messages.push(...body.data);
    total = body.pagination?.total_records ?? 0;
    expect(body.data.length).toBe(Math.min(1000, total - messages.length + body.data.length));
  }
  expect(messages.map(({ role }) => role)).toEqual(
    messages.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
  );
  const groups = messages.map(({ group_id }) => group_id);
  expect(groups).toEqual(groups.map((_, index) => groups[index - (index % 2)]));
  expect(new Set(groups).size).toBe(Math.ceil(messages.length / 2));
  const ids = messages.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort((one, other) => one - other));
  return messages;
}

export const contentsOf = (messages: MessageResource[]): string[] => messages.map(({ content }) => content);

/** The texts of a stream's deltas. */
export const deltasOf = (events: readonly (StreamEvent | '[DONE]')[]): string[] =>
  events.flatMap((event) =>
    event !== '[DONE]' && event.type === 'response.output_text.delta' ? [event.delta] : [],
  );

/** Reads events one by one. */
export function stepThrough(reader: EventReader) {
  const events = reader[Symbol.asyncIterator]();
  return {
    async next(): Promise<StreamEvent | '[DONE]' | undefined> {
      const { done, value } = await events.next();
      return done === true ? undefined : value;
    },
    async rest(): Promise<(StreamEvent | '[DONE]')[]> {
      const found: (StreamEvent | '[DONE]')[] = [];
      for (let next = await events.next(); next.done !== true; next = await events.next())
        found.push(next.value);
      return found;
    },
    /** Closes the connection. */
    leave: async (): Promise<void> => {
      await events.return?.();
    },
  };
}

/** The error of a reply that its own invocation did not close: the service closed the abandoned turn. */
export const interrupted = { code: 10005, message: 'The reply was interrupted' };

export const rejectedWhileResponding = {
  status: 400,
  body: { data: null, error_code: 10006, message: 'A reply is already in progress for this chat' },
};

/** Starts a streamed reply whose first chunk the client has received. */
export async function startReplyWith(
  {
    client,
    tenant,
    callFor,
  }: { client: Client; tenant: Pick<Tenant, 'agentId'>; callFor: (message: string) => Promise<ModelCall> },
  message: string,
) {
  const chatId = await createChat(client, tenant);
  const called = callFor(message);
  const events = stepThrough(await client.stream(chatId, { message, agent_id: tenant.agentId }));
  await events.next();
  const call = await called;
  call.chunk('One, ');
  await events.next();
  return { chatId, events, call };
}
