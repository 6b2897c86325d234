import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { errorCodeOf, errorTable } from '#contract/errors.ts';
import type { RouteName } from '#contract/routes.ts';
import { logAlso, logInvocation } from './log.ts';
import { Measurements } from './measurements.ts';
import { sendTrace, type TracedPart } from './trace.ts';

/** What this invocation measures: Lambda gives a function one at a time. */
export const measurements = /* @__PURE__ */ new Measurements();

interface Properties extends Record<string, string | undefined> {
  request_id: string;
  workspace_id: string | undefined;
  batch_id?: string | undefined;
}

let current: { name: string; startedAt: number; properties: Properties; parts: TracedPart[] } | undefined;

/** Every line until the next invocation tells what this one is about, and so do its metrics. */
export function startInvocation(context: Context, about: Properties, name = 'invocation'): void {
  current = { name, startedAt: Date.now(), properties: about, parts: [] };
  logInvocation(context, about);
}

/** What else the invocation is about, once that is known. */
export function annotateInvocation(about: Record<string, string>): void {
  Object.assign(current?.properties ?? {}, about);
  logAlso(about);
}

/** A part of the invocation, for its trace. */
export function traced(part: TracedPart): void {
  current?.parts.push(part);
}

/** @returns when all has been told: before that Lambda must not take the function for done */
export async function endInvocation(outcome: TracedPart['outcome'] = 'ok'): Promise<void> {
  const { name, startedAt, properties, parts } = current ?? {
    name: '',
    startedAt: 0,
    properties: {},
    parts: [],
  };
  measurements.publish(properties);
  if (current !== undefined)
    await sendTrace({ name, start: startedAt, end: Date.now(), outcome }, parts, properties);
  current = undefined;
}

interface GatewayEvent {
  requestContext: { requestId: string; authorizer?: { workspaceId?: unknown } | null | undefined };
}

export const startRequest = (
  { requestContext: { requestId, authorizer } }: GatewayEvent,
  context: Context,
  name?: string,
): void =>
  startInvocation(
    context,
    {
      request_id: requestId,
      workspace_id: typeof authorizer?.workspaceId === 'string' ? authorizer.workspaceId : undefined,
    },
    name,
  );

/** Counts a request, and the error that it was answered with. */
export function countRequest(route: RouteName, error: unknown): void {
  measurements.add('requests', 1, { route });
  if (error !== undefined) measurements.add('errors', 1, { route, error_code: String(errorCodeOf(error)) });
}

export function endRequest(route: RouteName, error?: unknown): Promise<void> {
  countRequest(route, error);
  return endInvocation(error === undefined ? 'ok' : isFault(error) ? 'fault' : 'error');
}

const isFault = (error: unknown): boolean => errorCodeOf(error) === errorTable.serverError.errorCode;

/** The middleware of a route's function that answers in one piece. */
export const observesRequests = (route: RouteName) => ({
  before: ({ event, context }: { event: APIGatewayProxyEvent; context: Context }): void =>
    startRequest(event, context, route),
  after: (): Promise<void> => endRequest(route),
  onError: ({ error }: { error: unknown }): Promise<void> => endRequest(route, error),
});
