/** @import { Envelope, RequestOptions, SentRequest, StreamEvent } from './types.d.ts' */
import { storedKey } from './session.js';

export const baseUrl = `${location.origin}/api/v1`;

/** A backlog of events is read in tasks of this many milliseconds, so that the page responds in between. */
const taskMilliseconds = 20;

/** Gets each request, when it is sent and when its response starts. @type {(request: SentRequest) => void} */
let report = () => {};

/** @param {(request: SentRequest) => void} observer */
export function onRequest(observer) {
  report = observer;
}

/** A response with an error, or no response. */
export class RequestFailed extends Error {
  /**
   * @param {string} message
   * @param {number} status 0 if there was no response
   * @param {number} [code]
   */
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }

  /** Whether the service has rejected the request. */
  get isRejection() {
    return this.status >= 400 && this.status < 500;
  }
}

/**
 * @template Data
 * @param {string} method
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<Envelope<Data>>}
 */
export const call = async (method, path, options) => (await request(method, path, options)).json();

/**
 * @param {string} method
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<Response>} a success
 */
export async function request(method, path, { query = {}, body, file, signal, idempotencyKey } = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  /** @type {SentRequest} */
  const sent = {
    method,
    path: search === '' ? path : `${path}?${search}`,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(file !== undefined && { file }),
  };
  report(sent);
  const startedAt = performance.now();
  const response = await send(sent, { signal, idempotencyKey });
  sent.status = response.status;
  sent.milliseconds = Math.round(performance.now() - startedAt);
  sent.requestId = response.headers.get('x-request-id') ?? undefined;
  report(sent);
  if (!response.ok) throw await failureOf(response);
  return response;
}

/**
 * @param {SentRequest} sent
 * @param {Pick<RequestOptions, 'signal' | 'idempotencyKey'>} options
 * @returns {Promise<Response>}
 */
async function send({ method, path, body, file }, { signal, idempotencyKey }) {
  const form = new FormData();
  if (file !== undefined) {
    form.append('file', file);
    form.append('data', JSON.stringify({ scope: 'ephemeral' }));
  }
  try {
    return await fetch(baseUrl + path, {
      method,
      headers: {
        'x-api-key': storedKey(),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      body: file === undefined ? (body ?? null) : form,
      signal: signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestFailed('The service does not respond. Is the local run still there?', 0);
  }
}

/** @param {Response} response */
async function failureOf(response) {
  /** @type {Partial<Envelope<{ hint?: string } | null>>} */
  const { message, error_code, data } = await response.json().catch(() => ({}));
  // The hint of a failed upload says what to do.
  const hint = data?.hint === undefined ? '' : ` ${data.hint}`;
  const text = message ?? `The response has the status ${response.status}`;
  return new RequestFailed(text + hint, response.status, error_code);
}

/**
 * Reads server-sent events as they come.
 *
 * @param {Response} response
 * @returns {AsyncGenerator<{ raw: string, event: StreamEvent | undefined }>} without an event at the line [DONE]
 */
export async function* eventsOf(response) {
  if (response.body === null) return;
  let text = '';
  let pauseAt = performance.now() + taskMilliseconds;
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (text + chunk).split('\n\n');
    text = blocks.pop() ?? '';
    for (const raw of blocks) {
      const data = raw.split('\n').find((line) => line.startsWith('data: '));
      // Lines that start with a colon keep the connection open.
      if (data === undefined) continue;
      const payload = data.slice('data: '.length);
      yield { raw, event: payload === '[DONE]' ? undefined : JSON.parse(payload) };
      if (performance.now() < pauseAt || document.hidden) continue;
      await new Promise((resolve) => setTimeout(resolve));
      pauseAt = performance.now() + taskMilliseconds;
    }
  }
}

/**
 * A curl command for the request. It does not have the header Idempotency-Key.
 *
 * @param {SentRequest} sent
 * @param {string} [key] without it, the command takes the key from the shell's variable API_KEY
 * @returns {string}
 */
export function curlOf({ method, path, body, file }, key) {
  // curl itself sends a POST if there is a body.
  const usual = body === undefined && file === undefined ? 'GET' : 'POST';
  const flags = body !== undefined && JSON.parse(body).stream === true ? '-sN' : '-s';
  const lines = [`curl ${flags} ${method === usual ? '' : `-X ${method} `}${quote(baseUrl + path)}`];
  lines.push(key === undefined ? '-H "x-api-key: $API_KEY"' : `-H ${quote(`x-api-key: ${key}`)}`);
  if (body !== undefined) lines.push("-H 'Content-Type: application/json'", `-d ${quote(body)}`);
  const fields = file && [`file=@${file.name};type=${file.type}`, 'data={"scope":"ephemeral"}'];
  for (const field of fields ?? []) lines.push(`-F ${quote(field)}`);
  return lines.join(' \\\n  ');
}

/** @param {string} text */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
