import process from 'node:process';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { Context } from 'aws-lambda';
import { errorCodeOf, errorTable } from '#contract/errors.ts';
import { environment } from '#runtime/environment/environment.ts';
import { type InvocationContext, invocationContext } from '#runtime/environment/invocation-context.ts';
import {
  type Metric,
  type MetricDimension,
  type MetricName,
  metrics,
  serviceDimension,
} from './metric-names.ts';
import { logTrace, sendTrace, type TracedPart } from './trace.ts';

type Dimensions<Name extends MetricName> = Record<
  (typeof metrics)[Name]['dimensions'][number][number],
  string
>;

interface Measurement {
  name: MetricName;
  value: number;
  dimensions: Readonly<Partial<Record<MetricDimension, string>>>;
}

let client: Metrics | undefined;

export class Measurements {
  #all: Measurement[] = [];

  add<Name extends MetricName>(name: Name, value: number, dimensions: Dimensions<Name>): void {
    this.#all.push({ name, value, dimensions });
  }

  /**
   * Writes different dimensions in different log lines: Powertools assigns all dimensions of a line to each of its
   * metrics.
   */
  publish(properties: Readonly<Record<string, string | undefined>>): void {
    const groups = Map.groupBy(this.#all, ({ name, dimensions }) =>
      JSON.stringify([metrics[name].dimensions, dimensions]),
    );
    this.#all = [];
    for (const [key, group] of groups) {
      client ??= new Metrics({
        namespace: environment('metricsNamespace'),
        serviceName: serviceDimension.service,
      });
      for (const [name, value] of Object.entries(properties))
        if (value !== undefined) client.addMetadata(name, value);
      const [sets, dimensions] = JSON.parse(key) as [string[][], Record<string, string>];
      for (const set of sets.filter(({ length }) => length > 0))
        client.addDimensions(Object.fromEntries(set.map((name) => [name, dimensions[name] ?? ''])));
      addMetrics(client, group);
      client.publishStoredMetrics();
    }
  }
}

function addMetrics(client: Metrics, group: readonly Measurement[]): void {
  for (const [key, value] of summed(group)) {
    const { name, formerName, unit }: Metric = metrics[key];
    client.addMetric(name, unit, value);
    if (formerName !== undefined) client.addMetric(formerName, unit, value);
  }
}

/** Times and sizes stay single values, for percentiles. */
function summed(group: readonly Measurement[]): [MetricName, number][] {
  const sums = new Map<MetricName, number>();
  const single: [MetricName, number][] = [];
  for (const { name, value } of group)
    if (metrics[name].unit === 'Count') sums.set(name, (sums.get(name) ?? 0) + value);
    else single.push([name, value]);
  return [...sums, ...single];
}

interface Invocation extends InvocationContext {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly measurements: Measurements;
  readonly parts: TracedPart[];
  readonly isOfWebFunction: boolean;
}

const currentInvocation = () => invocationContext().getStore() as Invocation | undefined;

/** Dropped outside of an invocation, as in an operator's command. */
export const measurements: Pick<Measurements, 'add'> = {
  add: (name, value, dimensions) => currentInvocation()?.measurements.add(name, value, dimensions),
};

interface InvocationStart {
  /** Undefined in a web function, which gets no context from Lambda. */
  lambda?: Context | undefined;
  name?: string | undefined;
  properties: Record<string, string | undefined> & { request_id: string };
  remainingMilliseconds?: () => number;
}

let hasStarted = false;

/** Metrics and trace are published only if `work` calls `endInvocation`. */
export function runInvocation<Result>(
  { lambda, name = 'invocation', properties, remainingMilliseconds }: InvocationStart,
  work: () => Result,
): Result {
  const isColdStart = !hasStarted;
  hasStarted = true;
  const invocation: Invocation = {
    name,
    startedAt: Date.now(),
    environmentFields: {
      cold_start: isColdStart,
      ...(lambda === undefined ? { function_name: process.env.AWS_LAMBDA_FUNCTION_NAME } : fieldsOf(lambda)),
    },
    properties: { ...properties },
    measurements: new Measurements(),
    parts: [],
    isOfWebFunction: lambda === undefined,
    remainingMilliseconds,
  };
  return invocationContext().run(invocation, work);
}

const fieldsOf = (lambda: Context) => ({
  function_arn: lambda.invokedFunctionArn,
  function_memory_size: lambda.memoryLimitInMB,
  function_name: lambda.functionName,
  function_request_id: lambda.awsRequestId,
});

export function annotateInvocation(about: Record<string, string>): void {
  Object.assign(currentInvocation()?.properties ?? {}, about);
}

export function addTracedPart(part: TracedPart): void {
  currentInvocation()?.parts.push(part);
}

/** The function must await this before it returns, because Lambda may then freeze the environment. */
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

export const runRequest = <Result>(
  { requestContext: { requestId, authorizer } }: GatewayEvent,
  lambda: Context,
  work: () => Result,
  name?: string,
): Result =>
  runInvocation(
    {
      ...{ lambda, name },
      properties: {
        request_id: requestId,
        workspace_id: typeof authorizer?.workspaceId === 'string' ? authorizer.workspaceId : undefined,
      },
    },
    work,
  );

export function endRequest(route: string, error?: unknown): Promise<void> {
  measurements.add('requests', 1, { route });
  if (error === undefined) return endInvocation();
  const code = errorCodeOf(error);
  measurements.add('errors', 1, { route, error_code: String(code) });
  return endInvocation(code === errorTable.serverError.errorCode ? 'fault' : 'error');
}
