import {
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IWidget,
  Metric,
  TextWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Aws, CfnCondition, CfnOutput, Duration, Fn, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { Platform } from './platform.ts';

const period = Duration.minutes(5);

const otherConsoles = {
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
  'aws-eusc': 'console.amazonaws-eusc.eu',
};

export class Dashboard extends Construct {
  constructor(
    scope: Construct,
    id: string,
    platform: Platform,
    props: {
      lines: readonly (readonly IWidget[])[];
      queue: Queue;
    },
  ) {
    super(scope, id);
    const { region, stackName } = Stack.of(this);
    const dashboard = new CloudWatchDashboard(this, 'Dashboard', { defaultInterval: Duration.days(1) });
    for (const line of props.lines) dashboard.addWidgets(...line);
    dashboard.addWidgets(...this.costs(platform, props.queue));
    dashboard.addWidgets(
      new TextWidget({
        width: 24,
        height: 2,
        markdown: `${stackName}: docs/runbook.md says what to do after an alarm, docs/deploy.md what the service costs.`,
      }),
    );
    new CfnOutput(Stack.of(this), 'DashboardAddress', {
      value: `https://${this.consoleDomain()}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard.dashboardName}`,
    });
  }

  /** With a mapping, a deployment would fail in a partition that is not listed. */
  private consoleDomain(): string {
    return Object.entries(otherConsoles).reduce((fallback, [partition, domain]) => {
      const condition = new CfnCondition(this, `Is${partition}`, {
        expression: Fn.conditionEquals(Aws.PARTITION, partition),
      });
      return Fn.conditionIf(condition.logicalId, domain, fallback).toString();
    }, 'console.aws.amazon.com');
  }

  private costs({ functions: all, table }: Platform, queue: Queue): GraphWidget[] {
    const functions = [...all.values()];
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
        left: functions.map((each) => each.metricErrors({ ...sum, label: `${each.node.id} crashed` })),
        right: functions.map((each) => each.metricThrottles({ ...sum, label: `${each.node.id} throttled` })),
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
}

export const graph = (title: string, props: GraphWidgetProps): GraphWidget =>
  new GraphWidget({ title, width: 6, height: 6, period, ...props });
