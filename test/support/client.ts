import type { StreamEvent } from '#contract/events.ts';
import type { Pagination } from '#contract/pagination-object.ts';
import { checkResponse, describedProblem } from './check-response.ts';
import type { Service, Tenant } from './service.ts';

export interface ApiResponse<Data = unknown> {
  status: number;
  headers: Headers;
  body: {
    data: Data;
    message: string | null;
    error_code: number;
    pagination?: Pagination;
  };
}

export interface Call {
  /** Sent as JSON, unless it is text or bytes already. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** The body of a response of Lambda itself, in place of a web function that has died or has no room for the request. */
const noEnvelope = { data: null as never, message: null, error_code: Number.NaN };

/** A client of the interface, over HTTP. `get` and `post` fail if a response breaks the contract. */
export function clientOf(service: Pick<Service, 'baseUrl'>, { apiKey }: Pick<Tenant, 'apiKey'>) {
  const addressOf = (path: string): string => (path.startsWith('http') ? path : service.baseUrl + path);
  const request = (method: string, path: string, { body, headers, signal }: Call = {}): Promise<Response> =>
    fetch(addressOf(path), {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && {
        body:
          typeof body === 'string' || body instanceof Uint8Array
            ? (body as NonNullable<RequestInit['body']>)
            : JSON.stringify(body),
      }),
      ...(signal !== undefined && { signal }),
    });
  const call = async <Data>(method: string, path: string, options?: Call): Promise<ApiResponse<Data>> => {
    const response = await request(method, path, options);
    const text = await response.text();
    const result: ApiResponse<Data> = {
      status: response.status,
      headers: response.headers,
      body: text === '' ? noEnvelope : (JSON.parse(text) as ApiResponse<Data>['body']),
    };
    if (result.body === noEnvelope) return result;
    const routePath = new URL(addressOf(path)).pathname.slice(new URL(service.baseUrl).pathname.length);
    checkResponse({ method, path: routePath, ...result });
    return result;
  };
  return {
    request,
    get: <Data = unknown>(path: string, options?: Call) => call<Data>('GET', path, options),
    post: <Data = unknown>(path: string, body: unknown, options?: Call) =>
      call<Data>('POST', path, { ...options, body }),
    delete: <Data = unknown>(path: string) => call<Data>('DELETE', path),
    patch: <Data = unknown>(path: string, body: unknown) => call<Data>('PATCH', path, { body }),
    /** Sends with `stream: true`; the reader yields events as they arrive, `[DONE]` last. */
    async stream(chatId: number, body: Record<string, unknown>, options?: Call): Promise<EventReader> {
      const response = await request('POST', `/chats/${chatId}/messages`, {
        ...options,
        body: { stream: true, ...body },
      });
      const { status, headers } = response;
      const isStream = headers.get('content-type')?.startsWith('text/event-stream');
      const path = '/chats/1/messages';
      const problem = isStream ? describedProblem({ method: 'POST', path, status, headers }) : undefined;
      if (problem !== undefined) throw new Error(problem);
      return readEvents(response);
    },
  };
}

export type Client = ReturnType<typeof clientOf>;

export interface EventReader extends AsyncIterable<StreamEvent | '[DONE]'> {
  response: Response;
  /** All events until the end of the stream. */
  all(): Promise<(StreamEvent | '[DONE]')[]>;
}

/** Reads server-sent events in the format of the specification, section 6.1. Comments are skipped. */
export function readEvents(response: Response): EventReader {
  async function* read(): AsyncGenerator<StreamEvent | '[DONE]'> {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event !== undefined) yield event;
      }
    }
    if (text !== '') throw new Error(`The stream ended inside an event: ${text}`);
  }
  return {
    response,
    [Symbol.asyncIterator]: read,
    async all() {
      return Array.fromAsync(read());
    },
  };
}

function parseBlock(block: string): StreamEvent | '[DONE]' | undefined {
  const lines = block.split('\n').filter((line) => !line.startsWith(':'));
  if (lines.length === 0) return undefined;
  const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length);
  const type = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
  if (data === undefined) throw new Error(`An event without data: ${block}`);
  if (data === '[DONE]') return data;
  const event = JSON.parse(data) as StreamEvent;
  if (event.type !== type) throw new Error(`The event line says ${type}, its payload ${event.type}`);
  return event;
}
