import type { APIGatewayProxyEvent } from 'aws-lambda';
import type * as z from 'zod';
import { ServiceError, unauthenticated } from '#contract/errors.ts';
import { type Limits, parseLimits } from '#contract/rate-limits.ts';
import type { Route } from '#contract/routes/route.ts';
import { isExpired } from '#domain/workspaces/api-key.ts';
import type { Caller } from '#domain/workspaces/authorize-request.ts';
import { clock } from '#runtime/environment/clock.ts';
import { viewerHostHeader } from '#runtime/environment/variables.ts';
import { describeIssues } from './describe-issues.ts';
import { isFromDistribution } from './origin-secret.ts';
import { readUtf8 } from './read-utf8.ts';

/** A request that has passed its route's schemas. */
export interface ValidRequest<R extends Route> {
  workspaceId: string;
  /** Of the key that it was sent with. */
  apiKeyId: string;
  requestId: string;
  /** What the workspace is held to; null when it is to nothing. */
  limits: Limits | null;
  /** The address that the client asked for: the distribution's when it came through it, else the gateway's. */
  address: () => Promise<URL>;
  parameters: z.output<R['parameters']>;
  query: z.output<R['query']>;
  headers: z.output<R['headers']>;
  body: z.output<R['body']>;
}

/** @throws clientNotAllowed unless the workspace takes every one of these, which a request names as its external user */
export type CheckUsers = (workspaceId: string, named: readonly unknown[]) => Promise<void>;

/**
 * Checks a request against its route's schemas.
 * @param admitUsers of a route that takes an external user: asked about a request that breaks a rule of its fields
 * @throws badRequest naming every field that is wrong (specification, section 7.1)
 */
export async function readRequest<R extends Route>(
  route: R,
  event: APIGatewayProxyEvent,
  checkUsers: CheckUsers | undefined,
): Promise<ValidRequest<R>> {
  try {
    return validRequest(route, event);
  } catch (error) {
    await checkUsers?.(callerOf(event).workspaceId, namedUsers(route, event));
    throw error;
  }
}

/** @throws badRequest when the body is no JSON, which comes before everything else that is wrong */
function namedUsers({ method }: Route, event: APIGatewayProxyEvent): unknown[] {
  if (method === 'POST') return [Object(bodyOf(event)).external_user_id];
  const lines = Object.entries(event.multiValueHeaders ?? {}).flatMap(([name, values = []]) =>
    name.toLowerCase() === 'x-external-user-id' ? values.map(decodeHeader) : [],
  );
  return [...(event.multiValueQueryStringParameters?.external_user_id ?? []), ...lines];
}

function validRequest<R extends Route>(route: R, event: APIGatewayProxyEvent): ValidRequest<R> {
  const { workspaceId, apiKeyId, limits } = callerOf(event);
  return {
    workspaceId,
    apiKeyId,
    limits,
    requestId: event.requestContext.requestId,
    address: () => addressOf(event),
    parameters: parse(route.parameters, event.pathParameters ?? {}),
    query: parse(route.query, queryOf(event)),
    headers: parse(route.headers, headersOf(event, Object.keys(route.headers.shape))),
    // What a client sends to a route that takes no body is not looked at.
    body: parse(route.body, route.body.type === 'unknown' ? undefined : bodyOf(event)),
  } as ValidRequest<R>;
}

/**
 * Whom the authorizer has let in, and what it has said of its limits: nothing for a workspace without any, or when it was
 * asked before a deployment that made limits.
 */
export function callerOf({ requestContext }: APIGatewayProxyEvent): Caller {
  const { workspaceId, apiKeyId, apiKeyExpiresAt, limits } = (requestContext.authorizer ?? {}) as Partial<
    Record<string, string>
  >;
  if (workspaceId === undefined || apiKeyId === undefined)
    throw new ServiceError('accessDenied', 'Access denied');
  // The authorizer's answer is cached for longer than a key may have had.
  if (isExpired(apiKeyExpiresAt ?? null, clock.now())) throw unauthenticated();
  return {
    workspaceId,
    apiKeyId,
    expiresAt: apiKeyExpiresAt ?? null,
    limits: limits === undefined ? null : parseLimits(limits),
  };
}

export const headerIn = (event: APIGatewayProxyEvent, name: string): string | undefined =>
  lowerCased(event.headers)[name];

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (!parsed.success) throw new ServiceError('badRequest', describeIssues(parsed.error.issues));
  return parsed.data;
}

function queryOf(event: APIGatewayProxyEvent): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, values] of Object.entries(event.multiValueQueryStringParameters ?? {})) {
    const [value, ...others] = values ?? [];
    if (others.length > 0) throw new ServiceError('badRequest', `${name} is given more than once`);
    if (value !== undefined) query[name] = value;
  }
  return query;
}

/** @throws badRequest when one that the route reads is there twice: the gateway would choose the last one */
function headersOf(
  { headers, multiValueHeaders }: APIGatewayProxyEvent,
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

/** A value whose characters are the bytes of UTF-8 text is that text. Any other, such as Latin-1, stays as it is. */
const decodeHeader = (value: string): string =>
  /[^\0-\xff]/.test(value) ? value : (readUtf8(Buffer.from(value, 'latin1')) ?? value);

function lowerCased(headers: APIGatewayProxyEvent['headers']): Record<string, string> {
  const lowered: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) lowered[name.toLowerCase()] = value;
  return lowered;
}

function bodyOf(event: APIGatewayProxyEvent): unknown {
  const type = headerIn(event, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' && !type?.endsWith('+json'))
    throw new ServiceError('badRequest', 'Content-Type must be application/json');
  const coding = headerIn(event, 'content-encoding')?.trim().toLowerCase() ?? 'identity';
  if (coding !== 'identity')
    throw new ServiceError('badRequest', 'Content-Encoding must be identity: a compressed body is not read');
  // API Gateway decodes a body of text itself, invalid bytes as U+FFFD, and leaves its byte order mark in place.
  const text = event.isBase64Encoded
    ? readUtf8(Buffer.from(event.body ?? '', 'base64'))
    : (event.body ?? '').replace(/^\ufeff/, '');
  if (text === undefined) throw new ServiceError('badRequest', 'The body is not valid UTF-8');
  try {
    return JSON.parse(text);
  } catch {
    throw new ServiceError('badRequest', 'The body is not valid JSON');
  }
}

/** A name, an IPv4 or an IPv6 address, with a port or without. */
const hostForm = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

async function addressOf(event: APIGatewayProxyEvent): Promise<URL> {
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
