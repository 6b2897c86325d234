import type * as z from 'zod';
import { streamEvent } from '#contract/events.ts';
import { type Route, routes } from '#contract/routes.ts';
import { checkResponse } from '../check-response.ts';
import type { FuzzRequest } from './fuzz-requests.ts';
import type { RawResponse } from './raw-exchange.ts';

/** What the judge knows besides a request and its answer. */
export interface Secrets {
  /** Of another workspace: in no answer at all. */
  canaries: readonly string[];
  /** Of the machinery, such as the table's name: in no header, and in no message. */
  internals: readonly string[];
}

/** What only a program says, and what a value looks like that was put into a sentence unseen. */
const programText =
  /\bnode:|\.m?[jt]s\b|\n\s+at |\barn:aws|\b[A-Z]\w*(?:Error|Exception)\b|ECONN|DynamoDB|is not (?:iterable|a function)|\[object |Invalid input|expected |received |(?:^|[ ;])(?:undefined|NaN)(?:[ ;.]|$)|\/(?:tmp|work|home|root|var|usr|opt)\//;

/** The longest that a client is told why: its own words, such as a file's name, may be part of it. */
const longestMessage = 3000;

/**
 * Holds an answer against all that is promised of every answer.
 * @returns what is wrong with it; nothing when it is as it must be
 */
export function checkFuzzResponse(
  request: FuzzRequest,
  response: RawResponse | undefined,
  secrets: Secrets,
): string | undefined {
  if (request.isNoHttp && (response === undefined || isBare(response))) return undefined;
  if (response === undefined) return 'the connection was closed without an answer';
  if (response.status >= 500) return 'a 5xx';
  const whole = [...response.headers].flat().concat(response.text).join('\n');
  const text = secrets.canaries.find((canary) => whole.includes(canary));
  if (text !== undefined) return `it tells of another workspace: ${text}`;
  const inHeaders = internalIn(headersOf(response), secrets);
  if (inHeaders !== undefined) return `a header tells ${inHeaders}`;
  if (request.method === 'HEAD') return response.text === '' ? undefined : 'an answer to HEAD has a body';
  if (response.headers.get('content-type')?.startsWith('text/event-stream'))
    return streamProblem(response.text);
  return envelopeProblem(request, response, secrets);
}

/** All but the one in which API Gateway names its own errors, as `AccessDeniedException`. */
const headersOf = ({ headers }: RawResponse): string =>
  [...headers]
    .flatMap(([name, value]) => (name === 'x-amzn-errortype' ? [] : `${name}: ${value}`))
    .join('\n');

/** What a server says that has read no request: a status alone. */
const isBare = ({ status, text }: RawResponse): boolean =>
  [400, 413, 431, 501].includes(status) && text === '';

function problemOf(check: () => void): unknown {
  try {
    check();
    return undefined;
  } catch (error) {
    return error;
  }
}

function envelopeProblem(request: FuzzRequest, response: RawResponse, secrets: Secrets): string | undefined {
  let body: { message: string | null; error_code: number };
  try {
    body = JSON.parse(response.text);
    const responded = { method: request.method, status: response.status, headers: response.headers, body };
    const paths = Object.values(routes).map(({ path }) => path);
    if (
      !request.isElsewhere ||
      !paths.some((path) => problemOf(() => checkResponse({ ...responded, path })) === undefined)
    )
      checkResponse({ ...responded, path: routes[request.route].path });
  } catch (error) {
    return (error as Error).message;
  }
  if (response.status < 400)
    return expectedProblem(request) && `it was accepted, although ${expectedProblem(request)}`;
  const message = body.message ?? '';
  const internal = internalIn(message, secrets);
  if (internal !== undefined) return `its message tells ${internal}`;
  if (message.length > longestMessage) return `its message has ${message.length} characters`;
  const expected = expectedProblem(request);
  if (expected === undefined) return undefined;
  if (`${response.status}/${body.error_code}` !== '400/10006')
    return `it is no 400/10006, although ${expected}`;
  return message.includes(expected) ? undefined : `its message does not name ${expected}`;
}

function internalIn(text: string, { internals }: Secrets): string | undefined {
  return internals.find((internal) => text.includes(internal)) ?? programText.exec(text)?.[0];
}

/** What a message must name of a request whose schemas refuse it. */
function expectedProblem({ route, expected }: FuzzRequest): string | undefined {
  if (expected === undefined) return undefined;
  const { parameters, query, headers, body }: Route = routes[route];
  return (
    firstWrong(parameters, expected.parameters) ??
    firstWrong(query, expected.query) ??
    firstWrong(headers, expected.headers) ??
    (body.type === 'unknown' ? undefined : bodyProblem(body, expected.body))
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

/** The place of a value that a schema refuses first, as clients write it: `requests[0].message`. */
function firstWrong(schema: z.ZodType, value: unknown): string | undefined {
  const parsed = schema.safeParse(value);
  if (parsed.success) return undefined;
  const [issue] = parsed.error.issues;
  const location = (issue?.path ?? [])
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('');
  return location.replace(/^\./, '') || 'The body';
}

/** A stream that ends as it must, of events that the contract names. */
function streamProblem(text: string): string | undefined {
  if (!text.endsWith('data: [DONE]\n\n')) return `the stream ends without [DONE]: ${text.slice(-200)}`;
  for (const line of text
    .split('\n')
    .filter((each) => each.startsWith('data: ') && each !== 'data: [DONE]')) {
    const parsed = streamEvent.safeParse(JSON.parse(line.slice('data: '.length)));
    if (!parsed.success) return `an event breaks the contract: ${line.slice(0, 300)}`;
    if (parsed.data.type === 'response.error') return `the stream tells of an error: ${parsed.data.message}`;
  }
  return undefined;
}
