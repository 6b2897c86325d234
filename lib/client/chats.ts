import { ChatBatchError, NotFoundError } from './errors.ts';
import { listPages, type PagePromise } from './page.ts';
import type { Chat, CreateChatRequest, DeletedChat, ListChatsQuery, RenameChatRequest } from './schema.ts';
import type { ApiPromise, RequestOptions, Transport } from './transport.ts';

/** By default, `external_user_id` is the client's `externalUserId`. Null names no user. */
export interface OfUser {
  external_user_id?: string | null;
}

export interface KeyedOptions extends RequestOptions {
  /**
   * The service does the work once for a key, within 24 hours. By default each call gets a new key. A stream without
   * `resumable` gets none, and the service rejects it with one.
   */
  idempotencyKey?: string | undefined;
}

export const withUser = <Params extends OfUser>(user: OfUser, params: Params): Params =>
  params.external_user_id === undefined ? { ...params, ...user } : params;

export function keyHeader(key: string = crypto.randomUUID()): Record<string, string> {
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw new ChatBatchError('An idempotency key has 1 to 255 printable ASCII characters');
  return { 'Idempotency-Key': key };
}

/** A program may have the id from a web page: a text in its place could name another route or another user. */
export function idOf(id: number): number {
  if (!Number.isSafeInteger(id) || id < 0)
    throw new ChatBatchError(`${JSON.stringify(id)} is not the id of a chat or a message`);
  return id;
}

const knownAgents = 10_000;

export class Chats {
  readonly #transport: Transport;
  readonly #user: OfUser;
  /** By chat, which never changes its agent. */
  readonly #agents = new Map<number, string>();

  /** @internal */
  constructor(transport: Transport, user: OfUser) {
    this.#transport = transport;
    this.#user = user;
  }

  /** Creates a chat with an agent. */
  create(params: CreateChatRequest, { idempotencyKey, ...options }: KeyedOptions = {}): ApiPromise<Chat> {
    return this.#transport.request(
      {
        method: 'POST',
        path: '/chats',
        body: withUser(this.#user, params),
        headers: keyHeader(idempotencyKey),
        // A server between this client and the service may choose the agent.
        read: ({ data }) => {
          const chat = data as Chat;
          return this.#withAgent(chat, chat.meta?.conversation_agent_id ?? params.agent_id);
        },
      },
      options,
    );
  }

  /** Lists the chats of the workspace, or of the user; by default the newest first. */
  list(
    query: Omit<ListChatsQuery, 'external_user_id'> & OfUser = {},
    options?: RequestOptions,
  ): PagePromise<Chat> {
    return listPages(this.#transport, '/chats', withUser(this.#user, query), options);
  }

  /** Reads a chat. */
  get(chatId: number, user: OfUser = {}, options?: RequestOptions): ApiPromise<Chat> {
    return this.#transport.request(
      { method: 'GET', path: `/chats/${idOf(chatId)}`, query: withUser(this.#user, user) },
      options,
    );
  }

  /** @internal */
  async agentOf(chatId: number, user: OfUser, options: RequestOptions): Promise<string> {
    const known = this.#agents.get(chatId);
    if (known !== undefined) return known;
    const chat = await this.get(chatId, user, options);
    const { conversation_agent_id: agentId } = chat.meta;
    this.#withAgent(chat, agentId);
    return agentId;
  }

  #withAgent(chat: Chat, agentId: string): Chat {
    this.#agents.set(chat.id, agentId);
    const [oldest] = this.#agents.keys();
    if (this.#agents.size > knownAgents && oldest !== undefined) this.#agents.delete(oldest);
    return chat;
  }

  /** Changes the name or the metadata of a chat, or both. */
  update(chatId: number, params: RenameChatRequest, options?: RequestOptions): ApiPromise<Chat> {
    return this.#transport.request(
      { method: 'PATCH', path: `/chats/${idOf(chatId)}`, body: withUser(this.#user, params) },
      options,
    );
  }

  /** Deletes a chat with its messages and ratings, and with the files that no other chat has. */
  delete(chatId: number, user: OfUser = {}, options?: RequestOptions): ApiPromise<DeletedChat> {
    return this.#transport.request<DeletedChat>(
      {
        method: 'DELETE',
        path: `/chats/${idOf(chatId)}`,
        query: withUser(this.#user, user),
        recover: (error) => (error instanceof NotFoundError ? { id: chatId, deleted: true } : undefined),
      },
      options,
    );
  }
}
