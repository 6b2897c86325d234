import process from 'node:process';
import type { Context } from 'aws-lambda';
import { errorCodeOf, errorTable } from '#contract/errors.ts';
import { type InvocationContext, invocationContext } from '#runtime/environment/invocation-context.ts';
import { type Dimensions, Measurements } from './measurements.ts';
import type { MetricName } from './metric-names.ts';
import { logTrace, sendTrace, type TracedPart } from './trace.ts';

interface Invocation extends InvocationContext {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly measurements: Measurements;
  readonly parts: TracedPart[];
  readonly isOfWebFunction: boolean;
}

/** Only `runInvocation` sets the context. */
const currentInvocation = () => invocationContext().getStore() as Invocation | undefined;

/** The measurements of the current invocation. Outside of one, as in an operator's command, nobody collects them. */
export const measurements = {
  add<Name extends MetricName>(name: Name, value: number, dimensions: Dimensions<Name>): void {
    currentInvocation()?.measurements.add(name, value, dimensions);
  },
};

interface Properties extends Record<string, string | undefined> {
  request_id: string;
  workspace_id?: string | undefined;
  batch_id?: string | undefined;
}

let hasStarted = false;

/** Runs an invocation. All its log lines and metrics contain these properties. */
export function runInvocation<Result>(
  {
    lambda,
    name = 'invocation',
    ...about
  }: {
    /** Undefined in a web function, which gets no context from Lambda. */
    lambda?: Context | undefined;
    name?: string;
    properties: Properties;
    remainingMilliseconds?: () => number;
  },
  work: () => Result,
): Result {
  const isColdStart = !hasStarted;
  hasStarted = true;
  const invocation: Invocation = {
    name,
    startedAt: Date.now(),
    environmentFields: lambda === undefined ? webFieldsOf(isColdStart) : fieldsOf(lambda, isColdStart),
    properties: { ...about.properties },
    measurements: new Measurements(),
    parts: [],
    isOfWebFunction: lambda === undefined,
    remainingMilliseconds: about.remainingMilliseconds,
  };
  return invocationContext().run(invocation, work);
}

const fieldsOf = (lambda: Context, isColdStart: boolean) => ({
  cold_start: isColdStart,
  function_arn: lambda.invokedFunctionArn,
  function_memory_size: lambda.memoryLimitInMB,
  function_name: lambda.functionName,
  function_request_id: lambda.awsRequestId,
});

const webFieldsOf = (isColdStart: boolean) => ({
  cold_start: isColdStart,
  function_name: process.env.AWS_LAMBDA_FUNCTION_NAME,
});

/** Adds properties to the log lines, the metrics and the trace of the current invocation. */
export function annotateInvocation(about: Record<string, string>): void {
  Object.assign(currentInvocation()?.properties ?? {}, about);
}

/** Adds a part of the invocation to its trace. */
export function addTracedPart(part: TracedPart): void {
  currentInvocation()?.parts.push(part);
}

/**
 * Publishes the metrics and the trace. The function must await it before it returns: Lambda then freezes the
 * environment.
 */
export async function endInvocation(outcome: TracedPart['outcome'] = 'ok'): Promise<void> {
  const current = currentInvocation();
  if (current === undefined) return;
  const { name, startedAt, properties, parts } = current;
  current.measurements.publish(properties);
  const part: TracedPart = { name, start: startedAt, end: Date.now(), outcome };
  if (current.isOfWebFunction) logTrace(part, parts);
  else await sendTrace(part, parts, properties);
}

interface GatewayEvent {
  requestContext: { requestId: string; authorizer?: { workspaceId?: unknown } | null | undefined };
}

/** Runs an invocation by API Gateway. */
export const runRequest = <Result>(
  { requestContext: { requestId, authorizer } }: GatewayEvent,
  lambda: Context,
  work: () => Result,
  name?: string,
): Result =>
  runInvocation(
    {
      lambda,
      ...(name !== undefined && { name }),
      properties: {
        request_id: requestId,
        workspace_id: typeof authorizer?.workspaceId === 'string' ? authorizer.workspaceId : undefined,
      },
    },
    work,
  );

/** Counts a request and the error of its response. */
export function countRequest(route: string, error: unknown): void {
  measurements.add('requests', 1, { route });
  if (error !== undefined) measurements.add('errors', 1, { route, error_code: String(errorCodeOf(error)) });
}

export function endRequest(route: string, error?: unknown): Promise<void> {
  countRequest(route, error);
  return endInvocation(error === undefined ? 'ok' : isFault(error) ? 'fault' : 'error');
}

const isFault = (error: unknown): boolean => errorCodeOf(error) === errorTable.serverError.errorCode;
