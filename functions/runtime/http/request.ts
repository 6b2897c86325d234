import { createHash, createHmac } from 'node:crypto';
import type { Readable } from 'node:stream';
import type * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { BodyTooLarge, ServiceError, unauthenticated } from '#contract/errors.ts';
import { type idempotencyHeaders, replayedHeader } from '#contract/headers.ts';
import { depthHeader, maxAgentDepth } from '#contract/limits.ts';
import { type Limits, parseLimits } from '#contract/rate-limits.ts';
import { hasBody, type Route, shortBody } from '#contract/routes/route.ts';
import type { ChatOfUser } from '#domain/chats/chat.ts';
import type { IdempotencyKey } from '#domain/platform/idempotency.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import { isExpired } from '#domain/platform/services.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import { checkNamedUsers } from '#domain/workspaces/workspaces.ts';
import { workspaces } from '#runtime/composition/services.ts';
import { clock, invocationContext } from '#runtime/environment/invocation-context.ts';
import { originSecretHeader, viewerHostHeader } from '#runtime/environment/variables.ts';
import { isFromDistribution } from './caller-secrets.ts';

/** Undefined if the bytes are not valid UTF-8. A leading byte order mark is removed unless `retainsMark` is set. */
export function readUtf8(bytes: Uint8Array, { retainsMark = false } = {}): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: retainsMark }).decode(bytes);
  } catch {
    return undefined;
  }
}

interface RequestOfChat {
  workspaceId: string;
  parameters: { chat_id: number };
  query: { external_user_id?: string | undefined };
  headers: { 'x-external-user-id'?: string | undefined };
  body: unknown;
}

/**
 * @throws if the header names another user than the query: the errors of `checkUsers` for both, else badRequest
 */
export async function chatOf({
  workspaceId,
  parameters,
  query,
  headers,
  body,
}: RequestOfChat): Promise<ChatOfUser> {
  const inQuery: string | undefined = query.external_user_id ?? Object(body).external_user_id;
  const inHeader = headers['x-external-user-id'];
  if (inQuery !== undefined && inHeader !== undefined && inQuery !== inHeader) {
    await checkUsers(workspaceId, [inQuery, inHeader]);
    throw new ServiceError('badRequest', 'external_user_id and the header x-external-user-id differ');
  }
  return { workspaceId, chatId: parameters.chat_id, externalUserId: inQuery ?? inHeader };
}

export const checkUsers = (workspaceId: string, named: readonly unknown[]): Promise<void> =>
  checkNamedUsers({ workspaces: workspaces() }, workspaceId, named);

/**
 * Null without the header Idempotency-Key. Only a hash of the header is stored: whoever knows the header can test
 * guesses of the body against the HMAC.
 */
export function idempotencyKeyOf(
  route: Route,
  { workspaceId, parameters, headers, body }: ValidRequest<Route & { headers: typeof idempotencyHeaders }>,
): IdempotencyKey | null {
  const header = headers['idempotency-key'];
  if (header === undefined) return null;
  return {
    workspaceId,
    hash: createHash('sha256').update(header).digest('base64url'),
    fingerprint: createHmac('sha256', header)
      .update(JSON.stringify([route.name, parameters, body]))
      .digest('base64url'),
    at: clock.now().getTime(),
  };
}

/** For a request that the gateway may repeat. */
export const gatewayKeyOf = (request: { workspaceId: string; gatewayId: string }): IdempotencyKey => ({
  workspaceId: request.workspaceId,
  hash: `request ${request.gatewayId}`,
  fingerprint: request.gatewayId,
  at: clock.now().getTime(),
});

export const replayHeaders = (replayed: boolean): Record<string, string> =>
  replayed ? { [replayedHeader]: 'true' } : {};

/** The names of headers are in lower case. */
export interface Request {
  readonly id: string;
  /** The gateway's own id of the request, which no client can choose; `id` if there is none. */
  readonly gatewayId: string;
  readonly headers: ReadonlyMap<string, readonly string[]>;
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly parameters: Readonly<Record<string, string | undefined>>;
  readonly path: string;
  readonly gatewayHost: string | undefined;
  /** Undefined if the route must reject the request itself. */
  readonly caller: Caller | undefined;
  readonly rejection?: string | undefined;
  body(): Promise<string | Buffer>;
  readonly upload?: Readable;
}

/** The last value, as in `headers` of API Gateway's event. */
export const headerIn = ({ headers }: Pick<Request, 'headers'>, name: string): string | undefined =>
  headers.get(name)?.at(-1);

export function callerIn(context: Readonly<Record<string, unknown>>): Caller | undefined {
  const { workspaceId, apiKeyId, apiKeyExpiresAt, limits } = context as Partial<Record<string, string>>;
  if (workspaceId === undefined || apiKeyId === undefined) return undefined;
  return {
    workspaceId,
    apiKeyId,
    expiresAt: apiKeyExpiresAt ?? null,
    limits: limits === undefined ? null : parseLimits(limits),
  };
}

export interface ValidRequest<R extends Route> {
  workspaceId: string;
  apiKeyId: string;
  requestId: string;
  gatewayId: string;
  limits: Limits | null;
  /**
   * The request's URL: at the distribution if the request came through it, else at the gateway.
   * @throws badRequest if the header Host is not the name of a host
   */
  address: () => Promise<URL>;
  parameters: z.output<R['parameters']>;
  query: z.output<R['query']>;
  headers: z.output<R['headers']>;
  body: R extends { multipart: true } ? undefined : z.output<R['body']>;
}

/**
 * In whitelist mode, checks the users that a request names.
 * @param named all values that the request gives as its external user
 * @throws accessDenied if the workspace does not exist; in whitelist mode clientNotAllowed, if one of the values is not
 *   on the whitelist or no value is given
 */
export type CheckUsers = (workspaceId: string, named: readonly unknown[]) => Promise<void>;

/**
 * @param checkUsers called if fields are invalid, because its errors take precedence over errors of fields
 * @throws badRequest if the body as a whole is wrong, such as no JSON; then the errors of `checkUsers`; then badRequest
 * that names the invalid fields (specification, section 7.1)
 */
export async function readRequest<R extends Route>(
  route: R,
  request: Request,
  caller: Caller,
  checkUsers: CheckUsers | undefined,
): Promise<ValidRequest<R>> {
  const sent = await request.body();
  const isJson = route.body.type !== 'unknown' && !route.multipart;
  const body = isJson ? parseBody(route, request, sent) : undefined;
  try {
    return validRequest(route, request, caller, body);
  } catch (error) {
    await checkUsers?.(caller.workspaceId, namedUsers(route, request, body));
    throw error;
  }
}

function namedUsers(route: Route, { headers, query }: Request, body: unknown): unknown[] {
  if (hasBody(route)) return [Object(body).external_user_id];
  return [
    ...(query.get('external_user_id') ?? []),
    ...(headers.get('x-external-user-id') ?? []).map(decodeHeader),
  ];
}

function validRequest<R extends Route>(
  route: R,
  request: Request,
  { workspaceId, apiKeyId, limits }: Caller,
  body: unknown,
): ValidRequest<R> {
  return {
    workspaceId,
    apiKeyId,
    limits,
    requestId: request.id,
    gatewayId: request.gatewayId,
    address: () => addressOf(request),
    parameters: parse(route.parameters, request.parameters),
    query: parse(route.query, queryOf(request)),
    headers: parse(route.headers, singles(request.headers, Object.keys(route.headers.shape), decodeHeader)),
    body: route.multipart ? undefined : parse(route.body, body),
  } as ValidRequest<R>;
}

/**
 * A tool must not create a batch: the batch makes its replies later, when the depth is no longer known.
 * @throws badRequest for a depth that is not allowed
 */
export function noteAgentDepth(request: Pick<Request, 'headers'>, { name }: Pick<Route, 'name'>): void {
  const agentDepth = Number(headerIn(request, depthHeader) ?? 0);
  const limit = name === 'create-batch' ? 1 : maxAgentDepth;
  if (!(agentDepth >= 0 && agentDepth < limit))
    throw new ServiceError('badRequest', `The request has come through ${limit} agents or more`);
  Object.assign(invocationContext().getStore() ?? {}, { agentDepth });
}

/** @throws accessDenied without a caller; unauthenticated if the key has expired */
export function callerOf({ caller }: Pick<Request, 'caller'>): Caller {
  if (caller === undefined) throw new ServiceError('accessDenied', 'Access denied');
  // The gateway may cache the authorizer's result beyond the expiry of the key.
  if (isExpired(caller.expiresAt, clock.now())) throw unauthenticated();
  return caller;
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) throw new ServiceError('badRequest', describeIssues(parsed.error.issues));
  return parsed.data;
}

const queryOf = ({ query }: Request): Record<string, string> => singles(query, [...query.keys()]);

/** @throws badRequest if a name is given more than once */
function singles(
  given: ReadonlyMap<string, readonly string[]>,
  names: readonly string[],
  decode = (value: string): string => value,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const name of names) {
    const [value, ...others] = given.get(name) ?? [];
    if (others.length > 0) throw new ServiceError('badRequest', `${name} is given more than once`);
    if (value !== undefined) values[name] = decode(value);
  }
  return values;
}

/**
 * A value that is not UTF-8, such as Latin-1 text, stays unchanged. A byte order mark is retained, because with it the
 * value is another one.
 */
const decodeHeader = (value: string): string =>
  /[^\0-\xff]/.test(value) ? value : (readUtf8(Buffer.from(value, 'latin1'), { retainsMark: true }) ?? value);

function parseBody(
  { hasOptionalBody, largestBody = shortBody }: Route,
  request: Request,
  sent: string | Buffer,
): unknown {
  if (hasOptionalBody && sent.length === 0) return {};
  const type = headerIn(request, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' && !type?.endsWith('+json'))
    throw new ServiceError('badRequest', 'Content-Type must be application/json');
  const coding = headerIn(request, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'identity')
    throw new ServiceError('badRequest', 'Content-Encoding must be identity: a compressed body is not read');
  if (Buffer.byteLength(sent) > largestBody.bytes) throw new BodyTooLarge(largestBody.bytes);
  // The gateway turns invalid bytes of a text into U+FFFD, and does not remove a byte order mark.
  const text = typeof sent === 'string' ? sent.replace(/^\ufeff/, '') : readUtf8(sent);
  if (text === undefined) throw new ServiceError('badRequest', 'The body is not valid UTF-8');
  return parseJson('The body', text, largestBody.values);
}

const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

async function addressOf(request: Request): Promise<URL> {
  const secret = headerIn(request, originSecretHeader);
  const viewerHost = (await isFromDistribution(secret)) ? headerIn(request, viewerHostHeader) : undefined;
  const host = viewerHost ?? headerIn(request, 'host') ?? request.gatewayHost ?? '';
  const origin = `${headerIn(request, 'x-forwarded-proto') ?? 'https'}://${host}`;
  if (!hostForm.test(host) || !URL.canParse(origin))
    throw new ServiceError('badRequest', 'The header Host is not the name of a host');
  const address = new URL(origin + request.path);
  for (const [name, value] of Object.entries(queryOf(request))) address.searchParams.set(name, value);
  return address;
}
