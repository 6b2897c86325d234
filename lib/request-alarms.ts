import {
  type Alarm,
  type IWidget,
  type Metric,
  type MetricOptions,
  TableSummaryColumn,
  TableWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { FilterPattern, type ILogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import { Stack } from 'aws-cdk-lib/core';
import type { Construct } from 'constructs';
import { errorTable } from '#contract/errors.ts';
import { type Alarms, formula, less, minute, sumOf } from './alarms.ts';
import { graph } from './dashboard.ts';
import { serviceMetric } from './service-metric.ts';
import type { WebServer } from './web-server.ts';

interface Gateway {
  metricRequests(options: MetricOptions): Metric;
  metricServerErrors(options: MetricOptions): Metric;
  accessLogs: ILogGroup;
}

/**
 * Failures that models cause do not count: this alarm stops roll-outs, and a provider's outage is not the fault of new
 * code.
 */
export function watchGateway(alarms: Alarms, gateway: Gateway): Alarm {
  const errors = gateway.metricServerErrors({ period: minute });
  return alarms.add('GatewayErrors', {
    summary:
      'More than 1 % of the requests fail with a 5xx status, or in their stream, and not because of a model.',
    metric: formula(
      // Fewer than three errors a minute are no outage. The tenth is because `errors` and `byModels` may count the same
      // response in different minutes.
      'IF(own < 3 OR own < errors / 10, 0, 100 * own / requests)',
      {
        own: sumOf(
          {
            errors,
            inStreams: serviceMetric(alarms, 'streamedFaults', {}, { period: minute }),
            exceptModels: less('byModels', ofModels(alarms), minute),
          },
          minute,
        ),
        errors,
        requests: gateway.metricRequests({ period: minute }),
      },
      minute,
    ),
    threshold: 1,
    periods: [2, 5],
  });
}

const ofModels = (alarms: Alarms) => serviceMetric(alarms, 'modelErrorResponses', {}, { period: minute });

/**
 * The gateway has no metric for 429, so its log is counted. The log lacks the uploads to their web function, but their
 * 429 are subtracted too, so the result may be too low.
 */
export function watchThrottledRequests(alarms: Alarms, gateway: Gateway): void {
  const { status, errorCode } = errorTable.rateLimited;
  const throttled = new MetricFilter(alarms, 'Responses429', {
    logGroup: gateway.accessLogs,
    metricNamespace: Stack.of(alarms).stackName,
    metricName: 'Responses429',
    filterPattern: FilterPattern.stringValue('$.status', '=', String(status)),
    metricValue: '1',
  });
  const byRateLimit = serviceMetric(alarms, 'errors', { error_code: String(errorCode) });
  alarms.add('RequestsThrottled', {
    summary: 'Many requests get 429, and not because of a rate limit of their workspace.',
    metric: sumOf({
      responses: throttled.metric({ statistic: 'Sum' }),
      exceptRateLimit: less('byRateLimit', byRateLimit),
    }),
    threshold: 100,
    periods: [2, 3],
  });
}

/** Each counted request costs a read of the table. */
export function watchKeys(alarms: Alarms): void {
  alarms.add('KeysRejected', {
    summary: 'Very many requests have API keys that do not exist.',
    metric: serviceMetric(alarms, 'rejectedKeys', { reason: 'unknown' }),
    threshold: 500,
    periods: [2, 3],
  });
}

/** If a web function crashes or times out before it responds, Lambda itself responds with 5xx. */
export function watchWebServers(
  alarms: Alarms,
  servers: readonly WebServer[],
  { areReplying }: { areReplying: boolean },
): void {
  const errorsOf = Object.fromEntries(
    servers.map((server) => [server.name, server.metricServerErrors({ period: minute })]),
  );
  const errors = sumOf(errorsOf, minute);
  alarms.add('WebFunctionErrors', {
    summary: 'A web function responds with 5xx, or Lambda does in its place, and not because of a model.',
    metric: formula(
      'IF(own < errors / 10, 0, own)',
      {
        errors,
        own: areReplying
          ? sumOf({ ...errorsOf, exceptModels: less('byModels', ofModels(alarms), minute) }, minute)
          : errors,
      },
      minute,
    ),
    threshold: 3,
    periods: [2, 5],
  });
  alarms.add('Strangers', {
    summary:
      'Requests bypass CloudFront or the gateway and reach a web function: without a secret or a signed caller, or with an old one.',
    metric: serviceMetric(alarms, 'requestsWithoutOriginSecret', {}),
    // The server rejects such requests without reading their bodies, so fewer in five minutes cost almost nothing.
    threshold: 100,
  });
}

export const graphsOfWebServers = (scope: Construct, servers: readonly WebServer[]): IWidget[] => [
  graph('Web functions: responses with 5xx', {
    left: servers.map((server) => server.metricServerErrors({ label: server.name })),
    right: [serviceMetric(scope, 'requestsWithoutOriginSecret', {}, { label: 'strangers' })],
  }),
  new TableWidget({
    title: 'Web functions: all that Lambda reports',
    width: 18,
    height: 6,
    metrics: ['Sum', 'Maximum'].flatMap((statistic) => servers.map((each) => each.everyMetric(statistic))),
    summary: { columns: [TableSummaryColumn.SUM, TableSummaryColumn.MAXIMUM], hideNonSummaryColumns: true },
  }),
];
