import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { errorCodeOf, errorTable } from '#contract/errors.ts';
import type { RouteName } from '#contract/routes.ts';
import { addInvocationFields, logInvocation } from './log.ts';
import { Measurements } from './measurements.ts';
import { sendTrace, type TracedPart } from './trace.ts';

/** The measurements of the current invocation. A Lambda environment has one invocation at a time. */
export const measurements = /* @__PURE__ */ new Measurements();

interface Properties extends Record<string, string | undefined> {
  request_id: string;
  workspace_id: string | undefined;
  batch_id?: string | undefined;
}

let current: { name: string; startedAt: number; properties: Properties; parts: TracedPart[] } | undefined;

/** Starts an invocation. Until the next one, all log lines and metrics contain these properties. */
export function startInvocation(context: Context, about: Properties, name = 'invocation'): void {
  current = { name, startedAt: Date.now(), properties: about, parts: [] };
  logInvocation(context, about);
}

/** Adds properties to the log lines, the metrics and the trace of the current invocation. */
export function annotateInvocation(about: Record<string, string>): void {
  Object.assign(current?.properties ?? {}, about);
  addInvocationFields(about);
}

/** Adds a part of the invocation to its trace. */
export function addTracedPart(part: TracedPart): void {
  current?.parts.push(part);
}

/**
 * Publishes the metrics and the trace. The function must await it before it returns: Lambda then freezes the
 * environment.
 */
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

/** Counts a request and the error of its response. */
export function countRequest(route: RouteName, error: unknown): void {
  measurements.add('requests', 1, { route });
  if (error !== undefined) measurements.add('errors', 1, { route, error_code: String(errorCodeOf(error)) });
}

export function endRequest(route: RouteName, error?: unknown): Promise<void> {
  countRequest(route, error);
  return endInvocation(error === undefined ? 'ok' : isFault(error) ? 'fault' : 'error');
}

const isFault = (error: unknown): boolean => errorCodeOf(error) === errorTable.serverError.errorCode;

/** The middleware that observes the requests of a buffered route. */
export const requestObserver = (route: RouteName) => ({
  before: ({ event, context }: { event: APIGatewayProxyEvent; context: Context }): void =>
    startRequest(event, context, route),
  after: (): Promise<void> => endRequest(route),
  onError: ({ error }: { error: unknown }): Promise<void> => endRequest(route, error),
});
