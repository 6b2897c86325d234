import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { errorTable, replyInProgress } from '#contract/errors.ts';
import { documentedRoutes, errorEnvelope, type Route, responses } from '#contract/routes.ts';

export interface JsonResponse {
  method: string;
  /** Below the base address, without the query. */
  path: string;
  status: number;
  headers: Headers;
  body: unknown;
}

interface OpenApi {
  paths: Record<string, Record<string, { responses: Record<string, { headers?: object }> }>>;
}

const openApi = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../docs/openapi.json'), 'utf8'),
) as OpenApi;

/** Headers about the transport and caching of a response, which OpenAPI need not describe. */
const headersOfHttp = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'],
  ...['transfer-encoding', 'vary', 'x-accel-buffering'],
];

/**
 * Checks a response against the contract, in addition to what its test expects: it has exactly the fields of its
 * route's envelope at every depth, or is an error of the error table. It is JSON, has a request id, and may not be
 * cached.
 * @throws Error that says how the response breaks the contract
 */
export function checkResponse(response: JsonResponse): void {
  const problem = contractProblem(response);
  if (problem !== undefined) throw new Error(problem);
}

/** How a response breaks the contract. */
export function contractProblem(response: JsonResponse): string | undefined {
  const problem = headersProblem(response) ?? describedProblem(response) ?? bodyProblem(response);
  const { method, path, status, body } = response;
  return (
    problem &&
    `${method} ${path} broke the contract: ${problem}\n${status} ${JSON.stringify(body).slice(0, 2000)}`
  );
}

/** Checks that OpenAPI describes the response's status for its operation, and all its headers. */
export function describedProblem({
  method,
  path,
  status,
  headers,
}: Omit<JsonResponse, 'body'>): string | undefined {
  const route = routeOf(method, path);
  if (route === undefined) return undefined;
  const described = openApi.paths[route.path]?.[method.toLowerCase()]?.responses[status];
  if (described === undefined) return `OpenAPI does not describe the status ${status}`;
  const own = described.headers ?? {};
  // API Gateway adds x-amz…, and at its own address Lambda adds lambda-….
  const unknown = [...headers.keys()].find(
    (name) => !(name in own) && !headersOfHttp.includes(name) && !/^(x-amz|lambda-)/.test(name),
  );
  return unknown && `OpenAPI does not describe the header ${unknown}`;
}

function headersProblem({ status, headers, body }: JsonResponse): string | undefined {
  if (!headers.get('content-type')?.startsWith('application/json')) return 'the Content-Type is not JSON';
  if (!headers.get('x-request-id')) return 'the header x-request-id is missing';
  // Otherwise a proxy could cache a tenant's response and send it to another tenant.
  if (headers.get('cache-control') !== 'no-store') return 'Cache-Control is not no-store';
  const limits = ['limit', 'remaining', 'reset'].flatMap((name) => headers.get(`x-ratelimit-${name}`) ?? []);
  if (![0, 3].includes(limits.length) || limits.some((value) => !/^\d+$/.test(value)))
    return 'a header x-ratelimit-* is missing or is no number';
  const retryAfter = headers.get('retry-after');
  const { message } = body as { message?: unknown };
  const isTemporary = status === 429 || (status === 400 && message === replyInProgress().message);
  if (isTemporary !== (retryAfter !== null))
    return 'Retry-After is there on 429 and while a reply is in progress, and on nothing else';
  return retryAfter === null || /^[1-9]\d*$/.test(retryAfter)
    ? undefined
    : 'Retry-After is no number of seconds';
}

function bodyProblem({ method, path, status, body }: JsonResponse): string | undefined {
  if (status >= 400) return failureProblem(status, body);
  const route = routeOf(method, path);
  if (route === undefined) return 'the route is not in the table';
  if (status !== route.status && status !== route.acceptedStatus) return `its status is ${route.status}`;
  const envelope = responses[route.name];
  return schemaProblem(envelope, body) ?? successProblem(route, body);
}

/** Only feedback has a message of success (specification, sections 2.1 and 4.1). */
function successProblem({ name }: Route, body: unknown): string | undefined {
  const { message, error_code } = body as { message: string | null; error_code: number };
  if (error_code !== 0) return 'the error_code of a success is 0';
  const expected = name === 'record-feedback' ? 'Feedback created' : null;
  return message === expected ? undefined : `the message of a success is ${expected}`;
}

function failureProblem(status: number, body: unknown): string | undefined {
  const problem = schemaProblem(errorEnvelope, body);
  if (problem !== undefined) return problem;
  const { error_code, message } = body as z.infer<typeof errorEnvelope>;
  const isKnown = Object.values(errorTable).some(
    (error) => error.status === status && error.errorCode === error_code,
  );
  if (!isKnown) return `no error is ${status}/${error_code}`;
  return message === '' ? 'the message is empty' : undefined;
}

/** A schema accepts unknown fields and omits them from its result, so a difference shows unknown fields. */
function schemaProblem(schema: z.ZodType, body: unknown): string | undefined {
  const parsed = schema.safeParse(body);
  if (!parsed.success) return z.prettifyError(parsed.error);
  return isDeepStrictEqual(parsed.data, body) ? undefined : 'it has fields that the contract does not name';
}

function routeOf(method: string, path: string): Route | undefined {
  const candidates = documentedRoutes.filter((route) => route.method === method);
  return (
    candidates.find((route) => route.path === path) ??
    candidates.find((route) => new RegExp(`^${route.path.replaceAll(/\{[^}]+\}/g, '[^/]+')}$`).test(path))
  );
}
