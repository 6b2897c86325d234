import type { APIGatewayEventRequestContext, APIGatewayProxyEvent } from 'aws-lambda';
import type * as z from 'zod';
import { describeIssues } from '#contract/describe-issues.ts';
import { bodyTooLarge, ServiceError, unauthenticated } from '#contract/errors.ts';
import { type Limits, parseLimits } from '#contract/rate-limits.ts';
import { hasBody, type Route, shortBody } from '#contract/routes/route.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import { isExpired } from '#domain/workspaces/api-key.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { clock } from '#runtime/environment/clock.ts';
import { viewerHostHeader } from '#runtime/environment/variables.ts';
import { isFromDistribution } from './origin-secret.ts';
import { readUtf8 } from './read-utf8.ts';

/** What routes read of a request: of API Gateway's event, or of the HTTP request that a web function receives. */
export interface RequestEvent
  extends Pick<
    APIGatewayProxyEvent,
    | 'headers'
    | 'multiValueHeaders'
    | 'multiValueQueryStringParameters'
    | 'pathParameters'
    | 'body'
    | 'isBase64Encoded'
  > {
  requestContext: Pick<
    APIGatewayEventRequestContext,
    'requestId' | 'extendedRequestId' | 'domainName' | 'path'
  > & {
    /** The authorizer's context. */
    authorizer?: Record<string, unknown> | null | undefined;
  };
}

/** A request that has passed its route's schemas. */
export interface ValidRequest<R extends Route> {
  workspaceId: string;
  /** The id of the request's API key. */
  apiKeyId: string;
  requestId: string;
  /** The gateway's own id of the request, which no client can choose. */
  gatewayId: string;
  /** The limits of the workspace; null if it has none. */
  limits: Limits | null;
  /** The URL that the client requested: of the distribution if the request came through it, else of the gateway. */
  address: () => Promise<URL>;
  parameters: z.output<R['parameters']>;
  query: z.output<R['query']>;
  headers: z.output<R['headers']>;
  body: z.output<R['body']>;
}

/**
 * Checks the whitelist.
 * @param named all values that the request gives as its external user
 * @throws clientNotAllowed if the workspace does not allow every one of them
 */
export type CheckUsers = (workspaceId: string, named: readonly unknown[]) => Promise<void>;

/**
 * Checks a request against its route's schemas.
 * @param checkUsers for routes with an external user. Called for an invalid request, because whitelist errors take
 * precedence over errors of fields.
 * @throws badRequest that names every invalid field (specification, section 7.1); clientNotAllowed
 */
export async function readRequest<R extends Route>(
  route: R,
  event: RequestEvent,
  checkUsers: CheckUsers | undefined,
): Promise<ValidRequest<R>> {
  const caller = callerOf(event);
  // A body sent to a route without a body is ignored. That it is not JSON takes precedence over all other errors.
  const body = route.body.type === 'unknown' ? undefined : bodyOf(route, event);
  try {
    return validRequest(route, event, caller, body);
  } catch (error) {
    await checkUsers?.(caller.workspaceId, namedUsers(route, event, body));
    throw error;
  }
}

function namedUsers(route: Route, event: RequestEvent, body: unknown): unknown[] {
  if (hasBody(route)) return [Object(body).external_user_id];
  const lines = Object.entries(event.multiValueHeaders ?? {}).flatMap(([name, values = []]) =>
    name.toLowerCase() === 'x-external-user-id' ? values.map(decodeHeader) : [],
  );
  return [...(event.multiValueQueryStringParameters?.external_user_id ?? []), ...lines];
}

function validRequest<R extends Route>(
  route: R,
  event: RequestEvent,
  { workspaceId, apiKeyId, limits }: Caller,
  body: unknown,
): ValidRequest<R> {
  return {
    workspaceId,
    apiKeyId,
    limits,
    requestId: event.requestContext.requestId,
    gatewayId: event.requestContext.extendedRequestId ?? event.requestContext.requestId,
    address: () => addressOf(event),
    parameters: parse(route.parameters, event.pathParameters ?? {}),
    query: parse(route.query, queryOf(event)),
    headers: parse(route.headers, headersOf(event, Object.keys(route.headers.shape))),
    body: parse(route.body, body),
  } as ValidRequest<R>;
}

/**
 * The caller from the authorizer's context. `limits` is absent if the workspace has none, or if the cached context is
 * from before the deployment that added limits.
 * @throws accessDenied without a caller; unauthenticated if the key has expired
 */
export function callerOf({ requestContext }: RequestEvent): Caller {
  const { workspaceId, apiKeyId, apiKeyExpiresAt, limits } = (requestContext.authorizer ?? {}) as Partial<
    Record<string, string>
  >;
  if (workspaceId === undefined || apiKeyId === undefined)
    throw new ServiceError('accessDenied', 'Access denied');
  // The gateway may cache the authorizer's result beyond the expiry of the key.
  if (isExpired(apiKeyExpiresAt ?? null, clock.now())) throw unauthenticated();
  return {
    workspaceId,
    apiKeyId,
    expiresAt: apiKeyExpiresAt ?? null,
    limits: limits === undefined ? null : parseLimits(limits),
  };
}

export const headerIn = (event: RequestEvent, name: string): string | undefined =>
  lowerCased(event.headers)[name];

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) throw new ServiceError('badRequest', describeIssues(parsed.error.issues));
  return parsed.data;
}

function queryOf(event: RequestEvent): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, values] of Object.entries(event.multiValueQueryStringParameters ?? {})) {
    const [value, ...others] = values ?? [];
    if (others.length > 0) throw new ServiceError('badRequest', `${name} is given more than once`);
    if (value !== undefined) query[name] = value;
  }
  return query;
}

/**
 * @throws badRequest if a header that the route reads occurs twice, because `headers` would contain only the last one
 */
function headersOf(
  { headers, multiValueHeaders }: RequestEvent,
  read: readonly string[],
): Record<string, string> {
  for (const [name, values = []] of Object.entries(multiValueHeaders ?? {}))
    if (values.length > 1 && read.includes(name.toLowerCase()))
      throw new ServiceError('badRequest', `${name.toLowerCase()} is given more than once`);
  const lowered = lowerCased(headers);
  for (const name of read) {
    const value = lowered[name];
    if (value !== undefined) lowered[name] = decodeHeader(value);
  }
  return lowered;
}

/**
 * Decodes a value whose characters are bytes of UTF-8. Any other value, such as Latin-1 text, stays unchanged. A byte order
 * mark stays: with it, a user is another one.
 */
const decodeHeader = (value: string): string =>
  /[^\0-\xff]/.test(value) ? value : (readUtf8(Buffer.from(value, 'latin1'), { retainsMark: true }) ?? value);

function lowerCased(headers: RequestEvent['headers']): Record<string, string> {
  const lowered: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) lowered[name.toLowerCase()] = value;
  return lowered;
}

function bodyOf({ hasOptionalBody, largestBody = shortBody }: Route, event: RequestEvent): unknown {
  if (hasOptionalBody && (event.body ?? '') === '') return {};
  const type = headerIn(event, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' && !type?.endsWith('+json'))
    throw new ServiceError('badRequest', 'Content-Type must be application/json');
  const coding = headerIn(event, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'identity')
    throw new ServiceError('badRequest', 'Content-Encoding must be identity: a compressed body is not read');
  if (Buffer.byteLength(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8') > largestBody.bytes)
    throw bodyTooLarge(largestBody.bytes);
  // API Gateway decodes a text body itself. It turns invalid bytes into U+FFFD and does not remove a byte order mark.
  const text = event.isBase64Encoded
    ? readUtf8(Buffer.from(event.body ?? '', 'base64'))
    : (event.body ?? '').replace(/^\ufeff/, '');
  if (text === undefined) throw new ServiceError('badRequest', 'The body is not valid UTF-8');
  return parseJson('The body', text, largestBody.values);
}

/** A host name, an IPv4 or an IPv6 address, with or without a port. */
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

async function addressOf(event: RequestEvent): Promise<URL> {
  const headers = lowerCased(event.headers);
  const viewerHost = (await isFromDistribution(headers)) ? headers[viewerHostHeader] : undefined;
  const host = viewerHost ?? headers.host ?? event.requestContext.domainName ?? '';
  const origin = `${headers['x-forwarded-proto'] ?? 'https'}://${host}`;
  if (!hostForm.test(host) || !URL.canParse(origin))
    throw new ServiceError('badRequest', 'The header Host is not the name of a host');
  const address = new URL(origin + event.requestContext.path);
  for (const [name, value] of Object.entries(queryOf(event))) address.searchParams.set(name, value);
  return address;
}
