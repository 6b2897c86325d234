import { Batches } from './batches.ts';
import { Chats } from './chats.ts';
import { ChatBatchError } from './errors.ts';
import { Files } from './files.ts';
import { Messages } from './messages.ts';
import type { Agent, ErasedUser } from './schema.ts';
import { type ApiPromise, createTransport, type RequestOptions, type Transport } from './transport.ts';
import { unwrapWebhook } from './webhooks.ts';

export interface ClientOptions {
  /** The base address of the stage, such as `https://chat.example.com/api/v1`. */
  baseUrl: string;
  apiKey: string;
  /** The user of calls that take an `external_user_id` and have none; null in a call names no user. */
  externalUserId?: string | undefined;
  /**
   * Milliseconds for each attempt, 120,000 by default; for a stream and `openResults`, until the response starts. The
   * cancellations of an aborted `submitAndWait` have 10,000.
   */
  timeout?: number | undefined;
  /** Milliseconds without data after which a stream counts as lost, 100,000 by default. */
  streamTimeout?: number | undefined;
  /**
   * The maximum of retries of a request, 3 by default; for a resumable stream, also of the resumes in a row that bring
   * no event. Retries of 429 with `waitForRateLimit`, and those that wait for the reply to a lost attempt, do not
   * count. Most requests of `submitAndWait` are instead retried for an hour, or after 429 without end.
   */
  maxRetries?: number | undefined;
  /** Whether a request waits as long as the service rejects it with 429; false by default. */
  waitForRateLimit?: boolean | undefined;
  /**
   * Milliseconds that a retry waits at least, 1,000 by default. Without `Retry-After`, the wait doubles with each
   * retry, up to a minute, even if `retryDelay` is longer. 10 to 25 % are added.
   */
  retryDelay?: number | undefined;
  /**
   * Called before a retry and before a resume, with the failure and the milliseconds of the wait. Not called for new
   * batches of `submitAndWait` that were rejected with 429.
   */
  onRetry?: ((error: unknown, milliseconds: number) => void) | undefined;
  /** The function that sends requests; by default the runtime's own. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** A client of the service, with the API key of one workspace. All parts of a program can share it. */
export class ChatBatchClient {
  readonly chats: Chats;
  readonly messages: Messages;
  readonly batches: Batches;
  readonly files: Files;
  readonly agents: ReturnType<typeof agentsOf>;
  readonly users: ReturnType<typeof usersOf>;
  readonly webhooks = { unwrap: unwrapWebhook };

  constructor({
    baseUrl,
    apiKey,
    externalUserId,
    timeout = 120_000,
    streamTimeout = 100_000,
    maxRetries = 3,
    waitForRateLimit = false,
    retryDelay = 1000,
    onRetry = () => undefined,
    fetch = globalThis.fetch,
  }: ClientOptions) {
    // The key is checked here, because an error of fetch may quote it.
    if (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))
      throw new ChatBatchError(
        'apiKey cannot be sent: it is empty or has characters that no header can have',
      );
    if (!isBaseUrl(baseUrl))
      throw new ChatBatchError(
        'baseUrl must be an address with http or https, and without a user or a query',
      );
    const transport = createTransport({
      baseUrl: withoutTrailingSlashes(baseUrl),
      apiKey,
      timeout,
      maxRetries,
      waitForRateLimit,
      retryDelay,
      onRetry,
      // Browsers reject a call of fetch as a method of another object.
      fetch: (...parameters) => fetch(...parameters),
    });
    const user = externalUserId === undefined ? {} : { external_user_id: externalUserId };
    this.chats = new Chats(transport, user);
    this.messages = new Messages(transport, this.chats, user, { streamTimeout, maxRetries, onRetry });
    this.batches = new Batches(transport, user);
    this.files = new Files(transport);
    this.agents = agentsOf(transport);
    this.users = usersOf(transport);
  }
}

/** URL parsers also accept `https:/x`, backslashes and some blanks. */
const isWritten = (url: string): boolean => /^https?:\/\/[^\s\\/?#][^\s\\]*$/i.test(url);

const isBaseUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { username, search, hash } = new URL(text);
  return isWritten(text) && `${username}${search}${hash}` === '';
};

function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url.charAt(end - 1) === '/') end -= 1;
  return url.slice(0, end);
}

const agentsOf = ({ request }: Transport) => ({
  /** Lists the published agents of the workspace. */
  list: (options?: RequestOptions): ApiPromise<Agent[]> =>
    request({ method: 'GET', path: '/chats/published-agents' }, options),
});

const usersOf = ({ request }: Transport) => ({
  /** Erases an external user, which cannot be undone. The erasure continues after the response. */
  erase: (externalUserId: string, options?: RequestOptions): ApiPromise<ErasedUser> =>
    request({ method: 'DELETE', path: '/users', query: { external_user_id: externalUserId } }, options),
});

export type { Batches } from './batches.ts';
export type { Chats, KeyedOptions, OfUser } from './chats.ts';
export * from './errors.ts';
export type { Files, UploadParams } from './files.ts';
export type {
  Messages,
  ResumeParams,
  SendParams,
  StreamOptions,
  StreamParams,
} from './messages.ts';
export type { Page, PagePromise } from './page.ts';
export type * from './schema.ts';
export { type Source, type StepWithResult, sourcesOf } from './sources.ts';
export type { FinalMessage, Reply, ReplyStream } from './stream.ts';
export type { SubmitOptions, SubmitParams, SubmitProgress, SubmittedBatches } from './submit-and-wait.ts';
export type { ApiPromise, RequestOptions, WithResponse } from './transport.ts';
export {
  type AgentStep,
  type ReplyMetadata,
  toUIMessageStream,
  type UIMessageChunk,
  type UIMessageStreamOptions,
} from './ui-message-stream.ts';
export {
  type SentUIMessage,
  toSendParams,
  toUIFilePart,
  toUIMessages,
  type UIFilePart,
  type UIMessage,
  type UIMessagePart,
} from './ui-messages.ts';
export { type UnwrapOptions, unwrapWebhook } from './webhooks.ts';
