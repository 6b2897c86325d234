import type * as z from 'zod';
import { streamEvent } from '#contract/events.ts';
import { documentedRoutes, type Route, routes } from '#contract/routes.ts';
import { contractProblem } from '../check-response.ts';
import type { FuzzRequest } from './fuzz-requests.ts';
import type { RawResponse } from './raw-exchange.ts';

/** Texts that responses must not contain. */
export interface Secrets {
  /** Texts of another workspace, which no response may contain. */
  canaries: readonly string[];
  /** Names of the infrastructure, such as the table's name, which no header and no message may contain. */
  internals: readonly string[];
}

/** Texts that only programs write, and values such as `undefined` that code put into a sentence unchecked. */
const programText =
  /\bnode:|\.m?[jt]s\b|\n\s+at |\barn:aws|\b[A-Z]\w*(?:Error|Exception)\b|ECONN|DynamoDB|is not (?:iterable|a function)|\[object |Invalid input|expected |received |(?:^|[ ;])(?:undefined|NaN)(?:[ ;.]|$)|\/(?:tmp|work|home|root|var|usr|opt)\//;

/** The longest error message, in characters. It may contain the client's own text, such as a file's name. */
const longestMessage = 3000;

/**
 * Checks a response against everything that the service promises for every response.
 * @returns the problem, or undefined if there is none
 */
export function checkFuzzResponse(
  request: FuzzRequest,
  response: RawResponse | undefined,
  secrets: Secrets,
): string | undefined {
  if (request.isNoHttp && (response === undefined || isBare(response))) return undefined;
  if (response === undefined) return 'the connection was closed without a response';
  if (response.status >= 500) return 'a 5xx';
  if (isOfCloudFront(request, response)) return undefined;
  const whole = [...response.headers].flat().concat(response.text).join('\n');
  const leaked = secrets.canaries.find((canary) => whole.includes(canary));
  if (leaked !== undefined) return `it contains data of another workspace: ${leaked}`;
  const inHeaders = internalIn(headersOf(response), secrets);
  if (inHeaders !== undefined) return `a header contains ${inHeaders}`;
  if (request.method === 'HEAD') return response.text === '' ? undefined : 'a response to HEAD has a body';
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    return streamProblem(response.text);
  return envelopeProblem(request, response, secrets);
}

/** All headers except the one in which API Gateway names its own errors, such as `AccessDeniedException`. */
const headersOf = ({ headers }: RawResponse): string =>
  [...headers]
    .flatMap(([name, value]) => (name === 'x-amzn-errortype' ? [] : `${name}: ${value}`))
    .join('\n');

/** Whether CloudFront itself has rejected the request, for its long address or its large headers. */
const isOfCloudFront = ({ door, target, headers }: FuzzRequest, { status, text }: RawResponse): boolean =>
  door === 'front' &&
  status === 413 &&
  text === '<h1>Error</h1>' &&
  (target.length > 8192 || headers.flat().join('').length > 30_000);

/** Whether it is the response of a server that could not read the request: a status without a body. */
const isBare = ({ status, text }: RawResponse): boolean =>
  [400, 413, 431, 501].includes(status) && text === '';

function envelopeProblem(request: FuzzRequest, response: RawResponse, secrets: Secrets): string | undefined {
  let body: { message: string | null; error_code: number };
  try {
    body = JSON.parse(response.text);
  } catch (error) {
    return (error as Error).message;
  }
  const { status, headers } = response;
  const problemAt = (path: string) =>
    contractProblem({ method: request.method, status, headers, body, path });
  const isOfAnother =
    request.isElsewhere && documentedRoutes.some(({ path }) => problemAt(path) === undefined);
  const problem = isOfAnother ? undefined : problemAt(routes[request.route].path);
  if (problem !== undefined) return problem;
  const expected = expectedProblem(request);
  if (status < 400) return expected && `it was accepted, although ${expected}`;
  const message = body.message ?? '';
  const internal = internalIn(message, secrets);
  if (internal !== undefined) return `its message contains ${internal}`;
  if (message.length > longestMessage) return `its message has ${message.length} characters`;
  if (expected === undefined) return undefined;
  if (`${status}/${body.error_code}` !== '400/10006') return `it is no 400/10006, although ${expected}`;
  return message.includes(expected) || ofWholeBody.test(message)
    ? undefined
    : `its message does not name ${expected}`;
}

/** The limits of a body come before its fields. */
const ofWholeBody = /^The (request body is too large|body has too many (levels|values)): at most /;

function internalIn(text: string, { internals }: Secrets): string | undefined {
  return internals.find((internal) => text.includes(internal)) ?? programText.exec(text)?.[0];
}

/** What the error message must name, if the route's schemas reject the request. */
function expectedProblem({ route, expected }: FuzzRequest): string | undefined {
  if (expected === undefined) return undefined;
  const { parameters, query, headers, body, hasOptionalBody }: Route = routes[route];
  const text = hasOptionalBody && expected.body === '' ? '{}' : expected.body;
  return (
    firstWrong(parameters, expected.parameters) ??
    firstWrong(query, expected.query) ??
    firstWrong(headers, expected.headers) ??
    (body.type === 'unknown' ? undefined : bodyProblem(body, text))
  );
}

function bodyProblem(schema: z.ZodType, text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'The body is not valid JSON';
  }
  return firstWrong(schema, value) ?? undefined;
}

/** The path of the first value that a schema rejects, as clients write it: `requests[0].message`. */
function firstWrong(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const location = (issue?.path ?? [])
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('');
  return location.replace(/^\./, '') || 'The body';
}

/** Checks that a stream ends with `[DONE]` and has only events of the contract. */
function streamProblem(text: string): string | undefined {
  if (!text.endsWith('data: [DONE]\n\n')) return `the stream ends without [DONE]: ${text.slice(-200)}`;
  for (const line of text
    .split('\n')
    .filter((each) => each.startsWith('data: ') && each !== 'data: [DONE]')) {
    const parsed = streamEvent.safeParse(JSON.parse(line.slice('data: '.length)));
    if (!parsed.success) return `an event breaks the contract: ${line.slice(0, 300)}`;
    if (parsed.data.type === 'response.error') return `the stream reports an error: ${parsed.data.message}`;
  }
  return undefined;
}
