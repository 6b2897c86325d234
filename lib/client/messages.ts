import { type Chats, idOf, type KeyedOptions, keyHeader, type OfUser, withUser } from './chats.ts';
import { listPages, type PagePromise } from './page.ts';
import type {
  ListMessagesQuery,
  Message,
  RecordFeedbackRequest,
  SendMessageRequest,
  StoppedReply,
  StopReplyRequest,
  TokenUsage,
} from './schema.ts';
import { type Reply, ReplyStream, type StreamSource } from './stream.ts';
import {
  type ApiPromise,
  apiPromise,
  type Envelope,
  type RequestOptions,
  type Transport,
  type TransportOptions,
} from './transport.ts';

export interface SendParams extends Omit<SendMessageRequest, 'stream' | 'resumable' | 'agent_id'> {
  /** By default the chat's agent, which the library reads from the service unless it knows it. */
  agent_id?: string | undefined;
}

export interface StreamParams extends SendParams, Pick<SendMessageRequest, 'resumable'> {}

export interface StreamOptions extends RequestOptions {
  /** Milliseconds without data after which a connection counts as lost. The default is that of the client. */
  streamTimeout?: number | undefined;
}

export interface ResumeParams extends OfUser {
  response_id: string;
  /** The `sequence_number` of the last event that is known; without it, all events come. */
  starting_after?: number;
}

export interface StreamDefaults extends Pick<TransportOptions, 'maxRetries' | 'onRetry'> {
  streamTimeout: number;
}

const pickUser = ({ external_user_id }: OfUser): OfUser =>
  external_user_id === undefined ? {} : { external_user_id };

function replyOf(chatId: number, text: string, headers: Headers): Reply {
  const incomplete = headers.get('x-reply-incomplete');
  return {
    id: Number(headers.get('x-message-id') ?? Number.NaN),
    chat_id: chatId,
    response_id: headers.get('x-response-id') ?? '',
    text,
    usage: JSON.parse(headers.get('x-token-usage') ?? 'null') as TokenUsage,
    ...(incomplete !== null && { incomplete }),
  };
}

const eventStream = { Accept: 'text/event-stream' };

export class Messages {
  readonly #transport: Transport;
  readonly #chats: Chats;
  readonly #user: OfUser;
  readonly #defaults: StreamDefaults;

  /** @internal */
  constructor(transport: Transport, chats: Chats, user: OfUser, defaults: StreamDefaults) {
    this.#transport = transport;
    this.#chats = chats;
    this.#user = user;
    this.#defaults = defaults;
  }

  /** Sends a message and waits for the whole reply. */
  send(
    chatId: number,
    params: SendParams,
    { idempotencyKey, ...options }: KeyedOptions = {},
  ): ApiPromise<Reply> {
    const call = {
      method: 'POST' as const,
      path: `/chats/${idOf(chatId)}/messages`,
      headers: keyHeader(idempotencyKey),
      read: ({ data }: Envelope, headers: Headers) => replyOf(chatId, data as string, headers),
    };
    return apiPromise(
      this.#withAgent(chatId, params, options).then((body) =>
        this.#transport.request({ ...call, body: { ...body, stream: false } }, options).withResponse(),
      ),
    );
  }

  /** Sends a message and streams the reply. A lost connection is resumed only with `resumable: true`. */
  stream(
    chatId: number,
    params: StreamParams,
    { idempotencyKey, ...options }: StreamOptions & KeyedOptions = {},
  ): ReplyStream {
    const isResumable = params.resumable === true;
    const call = {
      method: 'POST' as const,
      path: `/chats/${idOf(chatId)}/messages`,
      headers: {
        ...eventStream,
        ...((isResumable || idempotencyKey !== undefined) && keyHeader(idempotencyKey)),
      },
      isRepeatable: isResumable,
    };
    const user = withUser(this.#user, pickUser(params));
    const open = async (signal: AbortSignal) => {
      const body = { ...(await this.#withAgent(chatId, params, { ...options, signal })), stream: true };
      return await this.#transport.open({ ...call, body }, { ...options, signal });
    };
    const source = { chatId, open, isResumable, isContinued: false, responseId: undefined };
    return this.#replyStream(source, user, options);
  }

  /**
   * Streams the reply to a message sent with `resumable: true`. This is possible for an hour after the reply's start.
   */
  resume(
    chatId: number,
    { response_id, starting_after, ...user }: ResumeParams,
    options: StreamOptions = {},
  ) {
    const ofUser = withUser(this.#user, user);
    const open = (signal: AbortSignal) =>
      this.#resume(chatId, { response_id, starting_after, ...ofUser }, { ...options, signal });
    const isContinued = starting_after !== undefined;
    const source = { chatId, open, isResumable: true, isContinued, responseId: response_id };
    return this.#replyStream(source, ofUser, options);
  }

  /**
   * Ends the reply that is in progress in a chat. With `response_id`, it never ends a later reply.
   * @throws BadRequestError, for example if no reply is in progress
   */
  stop(chatId: number, params: StopReplyRequest = {}, options?: RequestOptions): ApiPromise<StoppedReply> {
    return this.#transport.request(
      {
        method: 'POST',
        path: `/chats/${idOf(chatId)}/stop`,
        body: withUser(this.#user, params),
        // Without the id, a repeated stop could end the next reply.
        isRepeatable: params.response_id != null,
        // With the id, a 400 after an attempt with an unknown outcome counts as success: most likely, this attempt has
        // stopped the reply, or the reply has ended meanwhile.
        recover: ({ status }) =>
          status === 400 && params.response_id != null
            ? { chat_id: chatId, response_id: params.response_id, status: 'stopped' }
            : undefined,
      },
      options,
    );
  }

  /** Lists the history of a chat; by default the oldest message first. The service requires a user. */
  list(
    chatId: number,
    query: Omit<ListMessagesQuery, 'external_user_id'> & OfUser = {},
    options?: RequestOptions,
  ): PagePromise<Message> {
    return listPages(
      this.#transport,
      `/chats/${idOf(chatId)}/messages`,
      withUser(this.#user, query),
      options,
    );
  }

  /** Rates a reply; the service requires a user. A second rating by the same user replaces the first. */
  feedback(
    chatId: number,
    messageId: number,
    params: Omit<RecordFeedbackRequest, 'external_user_id'> & OfUser,
    options?: RequestOptions,
  ): ApiPromise<void> {
    return this.#transport.request<void>(
      {
        method: 'POST',
        path: `/chats/${idOf(chatId)}/messages/${idOf(messageId)}/feedbacks`,
        body: withUser(this.#user, params),
        read: () => undefined,
      },
      options,
    );
  }

  async #withAgent<Params extends SendParams>(chatId: number, params: Params, options: RequestOptions) {
    const body = withUser(this.#user, params);
    return {
      ...body,
      agent_id: body.agent_id ?? (await this.#chats.agentOf(chatId, pickUser(body), options)),
    };
  }

  #replyStream(
    source: Pick<StreamSource, 'chatId' | 'open' | 'isResumable' | 'isContinued' | 'responseId'>,
    user: OfUser,
    options: StreamOptions,
  ): ReplyStream {
    const { chatId } = source;
    return new ReplyStream({
      ...source,
      resume: (response_id, starting_after, signal) =>
        this.#resume(chatId, { response_id, starting_after, ...user }, { ...options, signal }),
      stop: (responseId) =>
        this.stop(chatId, { ...user, ...(responseId !== undefined && { response_id: responseId }) }),
      maxResumes: options.maxRetries ?? this.#defaults.maxRetries,
      delay: this.#transport.delay,
      onRetry: this.#defaults.onRetry,
      silence: options.streamTimeout ?? this.#defaults.streamTimeout,
      signal: options.signal,
    });
  }

  #resume(chatId: number, query: object, options: StreamOptions) {
    const path = `/chats/${idOf(chatId)}/stream`;
    return this.#transport.open({ method: 'GET', path, query, headers: eventStream }, options);
  }
}
