import {
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  Metric,
  Stats,
  TableSummaryColumn,
  TableWidget,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import { Aws, CfnCondition, Duration, Fn, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { BatchWorkflow } from './batch-workflow.ts';
import type { RestApi } from './rest-api.ts';
import type { ServiceFunction } from './service-function.ts';
import { type DimensionsOf, everyServiceMetric, serviceMetric } from './service-metric.ts';
import type { WebServer } from './web-server.ts';

const period = Duration.minutes(5);

/** Domains of AWS's console in partitions other than `aws`. Only CloudFormation knows the partition of a stack. */
const otherConsoles = {
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
  'aws-eusc': 'console.amazonaws-eusc.eu',
};

/** The page for the daily check, and the first one to open after an alarm: what clients see, models, batches, costs. */
export class Dashboard extends Construct {
  /** The dashboard's URL in the AWS console. */
  readonly address: string;

  constructor(
    scope: Construct,
    id: string,
    props: {
      api: RestApi;
      batches: BatchWorkflow;
      table: ITableV2;
      /** All functions. */
      functions: readonly ServiceFunction[];
      webServers: readonly WebServer[];
      /** Logs with tokens and workspaces. */
      replyLogs: readonly ILogGroup[];
    },
  ) {
    super(scope, id);
    const { region, stackName } = Stack.of(this);
    const dashboard = new CloudWatchDashboard(this, 'Dashboard', { defaultInterval: Duration.days(1) });
    dashboard.addWidgets(...this.clients(props.api));
    if (props.webServers.length > 0) dashboard.addWidgets(...this.webFunctions(props.webServers));
    dashboard.addWidgets(...this.models(props.replyLogs));
    dashboard.addWidgets(...this.batches(props.batches));
    dashboard.addWidgets(...this.costs(props));
    this.address = `https://${this.consoleDomain()}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`;
    dashboard.addWidgets(
      new TextWidget({
        width: 24,
        height: 2,
        markdown: `${stackName}: docs/runbook.md says what to do after an alarm, docs/deploy.md what the service costs.`,
      }),
    );
  }

  /** Uses conditions, because a mapping would make a deployment fail in a partition that is not listed. */
  private consoleDomain(): string {
    return Object.entries(otherConsoles).reduce((fallback, [partition, domain]) => {
      const condition = new CfnCondition(this, `Is${partition}`, {
        expression: Fn.conditionEquals(Aws.PARTITION, partition),
      });
      return Fn.conditionIf(condition.logicalId, domain, fallback).toString();
    }, 'console.aws.amazon.com');
  }

  private clients(api: RestApi): GraphWidget[] {
    return [
      graph('Requests by route', { left: [this.search('requests', 'route')] }),
      graph('Errors by code', { left: [this.search('errors', 'error_code')] }),
      graph('Responses of the gateway', {
        left: [
          api.metricRequests({ label: 'all', period }),
          api.metricClientErrors({ label: '4xx', period }),
          api.metricServerErrors({ label: '5xx', period }),
        ],
      }),
      graph('Time to the first delta, ms', {
        left: ['p50', 'p95', 'p99'].map((statistic) =>
          serviceMetric(
            this,
            'timeToFirstDelta',
            { route: 'send-message' },
            { period, statistic, label: statistic },
          ),
        ),
        right: [
          serviceMetric(
            this,
            'timeToFirstDelta',
            { route: 'complete-chat' },
            { period, statistic: 'p95', label: 'OpenAI clients, p95' },
          ),
        ],
      }),
    ];
  }

  private webFunctions(servers: readonly WebServer[]) {
    return [
      graph('Web functions: responses with 5xx', {
        left: servers.map((server) => server.metricServerErrors({ period, label: server.node.id })),
        right: [serviceMetric(this, 'requestsWithoutOriginSecret', {}, { period, label: 'strangers' })],
      }),
      // A table, because its rows have different units: requests, milliseconds, environments.
      new TableWidget({
        title: 'Web functions: all that Lambda reports',
        width: 18,
        height: 6,
        metrics: ['Sum', 'Maximum'].flatMap((statistic) =>
          servers.map(
            (server) =>
              new MathExpression({
                expression: server.searchMetrics(statistic),
                usingMetrics: {},
                label: `${server.node.id}, ${statistic.toLowerCase()}`,
                period,
              }),
          ),
        ),
        summary: {
          columns: [TableSummaryColumn.SUM, TableSummaryColumn.MAXIMUM],
          hideNonSummaryColumns: true,
        },
      }),
    ];
  }

  private models(replyLogs: readonly ILogGroup[]) {
    return [
      graph('Tokens by model', {
        left: [this.search('promptTokens', 'model', 'prompt')],
        right: [this.search('completionTokens', 'model', 'completion')],
      }),
      graph('Failures of models', {
        left: [this.search('modelFailures', 'model', 'ended a reply')],
        right: [this.search('modelRetries', 'model', 'retried')],
      }),
      new LogQueryWidget({
        title: 'Tokens by workspace',
        width: 12,
        view: LogQueryVisualizationType.TABLE,
        logGroupNames: replyLogs.map(({ logGroupName }) => logGroupName),
        queryLines: [
          'filter ispresent(PromptTokens)',
          'stats sum(PromptTokens) as prompt, sum(CompletionTokens) as completion, sum(ModelCalls) as calls by workspace_id',
          'sort prompt desc',
          'limit 20',
        ],
      }),
    ];
  }

  private batches({ queue, machine }: BatchWorkflow): GraphWidget[] {
    return [
      graph('Requests of batches', {
        left: [
          serviceMetric(this, 'batchRequestsDone', {}, { period, label: 'done' }),
          serviceMetric(this, 'batchRequestsFailed', {}, { period, label: 'failed' }),
          serviceMetric(this, 'batchRequestsDelayed', {}, { period, label: 'delayed' }),
        ],
        right: [queue.metricApproximateNumberOfMessagesVisible({ period, label: 'in the queue' })],
      }),
      graph('Age of batches at their end, s', {
        left: [this.search('batchAge', 'status', '', Stats.percentile(95))],
        right: [
          serviceMetric(this, 'overdueBatches', {}, { period, statistic: 'Maximum', label: 'overdue' }),
        ],
      }),
      graph('Waiting and failed work', {
        left: [
          serviceMetric(
            this,
            'oldestRequestWait',
            {},
            { period, statistic: 'Maximum', label: 'oldest request, s' },
          ),
        ],
        right: [machine.metricFailed({ period, label: 'failed executions' })],
      }),
      graph('Webhooks', {
        left: [this.search('webhookAttempts', 'outcome')],
        right: [serviceMetric(this, 'webhooksExhausted', {}, { period, label: 'exhausted' })],
      }),
    ];
  }

  /** Graphs of what costs money. Not S3: its request metrics cost extra, and invocations and turns show enough. */
  private costs({
    batches: { queue },
    functions,
    table,
  }: {
    batches: BatchWorkflow;
    functions: readonly ServiceFunction[];
    table: ITableV2;
  }): GraphWidget[] {
    const sum = { period, statistic: 'Sum' };
    const ofAccount = (service: string, resource: string, label: string) =>
      new Metric({
        namespace: 'AWS/Usage',
        metricName: 'CallCount',
        dimensionsMap: { Service: service, Type: 'API', Resource: resource, Class: 'None' },
        label,
        ...sum,
      });
    return [
      graph('Units of the table', {
        left: [
          table.metricConsumedWriteCapacityUnits({ ...sum, label: 'write' }),
          table.metricConsumedReadCapacityUnits({ ...sum, label: 'read' }),
        ],
      }),
      graph('Time of functions, ms', {
        left: functions.map((handler) => handler.metricDuration({ ...sum, label: handler.node.id })),
        stacked: true,
      }),
      graph('Calls of functions', {
        left: functions.map((handler) => handler.metricInvocations({ ...sum, label: handler.node.id })),
        stacked: true,
      }),
      graph('Crashed and throttled calls of functions', {
        left: functions.map((handler) =>
          handler.metricErrors({ ...sum, label: `${handler.node.id} crashed` }),
        ),
        right: functions.map((handler) =>
          handler.metricThrottles({ ...sum, label: `${handler.node.id} throttled` }),
        ),
      }),
      graph('Queues, workflow, keys and secrets (the last three of the whole account)', {
        left: [
          queue.metricNumberOfMessagesSent({ ...sum }),
          queue.metricNumberOfMessagesReceived({ ...sum }),
          queue.metricNumberOfEmptyReceives({ ...sum }),
          new Metric({
            namespace: 'AWS/States',
            metricName: 'ConsumedCapacity',
            dimensionsMap: { ServiceMetric: 'StateTransition' },
            label: 'state transitions',
            ...sum,
          }),
          ofAccount('KMS', 'CryptographicOperationsSymmetric', 'KMS'),
          ofAccount('Secrets Manager', 'GetSecretValue', 'secrets'),
        ],
      }),
    ];
  }

  private search<Name extends Parameters<typeof everyServiceMetric>[1]>(
    name: Name,
    dimension: keyof DimensionsOf<Name> & string,
    label = '',
    statistic = 'Sum',
  ): IMetric {
    return new MathExpression({
      expression: everyServiceMetric(this, name, dimension, statistic),
      usingMetrics: {},
      label,
      period,
    });
  }
}

const graph = (title: string, props: GraphWidgetProps): GraphWidget =>
  new GraphWidget({ title, width: 6, height: 6, period, ...props });
