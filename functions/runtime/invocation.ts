import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import type { RouteName } from '#contract/routes.ts';
import { errorCodeOf } from './http-response.ts';
import { logInvocation } from './log.ts';
import { Measurements } from './measurements.ts';

/** What this invocation measures: Lambda gives a function one at a time. */
export const measurements = /* @__PURE__ */ new Measurements();

interface Properties extends Record<string, string | undefined> {
  request_id: string;
  workspace_id: string | undefined;
  batch_id?: string | undefined;
}

let properties: Properties | undefined;

/** Every line until the next invocation tells what this one is about, and so do its metrics. */
export function beginInvocation(context: Context, about: Properties): void {
  properties = about;
  logInvocation(context, about);
}

export function endInvocation(): void {
  measurements.publish(properties ?? {});
}

interface GatewayEvent {
  requestContext: { requestId: string; authorizer?: { workspaceId?: unknown } | null | undefined };
}

export const beginRequest = (
  { requestContext: { requestId, authorizer } }: GatewayEvent,
  context: Context,
): void =>
  beginInvocation(context, {
    request_id: requestId,
    workspace_id: typeof authorizer?.workspaceId === 'string' ? authorizer.workspaceId : undefined,
  });

/** Counts a request, and the error that it was answered with. */
export function countRequest(route: RouteName, error: unknown): void {
  measurements.add('requests', 1, { route });
  if (error !== undefined) measurements.add('errors', 1, { route, error_code: String(errorCodeOf(error)) });
}

export function endRequest(route: RouteName, error?: unknown): void {
  countRequest(route, error);
  endInvocation();
}

/** The middleware of a route's function that answers in one piece. */
export const observesRequests = (route: RouteName) => ({
  before: ({ event, context }: { event: APIGatewayProxyEvent; context: Context }): void =>
    beginRequest(event, context),
  after: (): void => endRequest(route),
  onError: ({ error }: { error: unknown }): void => endRequest(route, error),
});
