import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { DistributionAlarms } from '#lib/distribution-alarms.ts';
import { readStage } from '#lib/stage.ts';
import { metrics } from '#runtime/observability/metric-names.ts';
import { fixedCosts } from '../../bin/cost/fixed-costs.ts';
import { createService, evaluate, type Resource, synthesize } from './synthesize.ts';

const settings = { webFunctions: 'all', alarmEmails: ['someone@example.com'] };
const { template, resources, resource } = synthesize({ settings });

interface AlarmProperties {
  AlarmActions?: unknown[];
  AlarmDescription: string;
  ComparisonOperator: string;
  Metrics?: {
    MetricStat?: { Metric: { Namespace: string; MetricName: string; Dimensions?: Dimension[] } };
  }[];
  Namespace?: string;
  MetricName?: string;
  Dimensions?: Dimension[];
  Threshold: number;
  TreatMissingData: string;
}
interface Dimension {
  Name: string;
  Value: unknown;
}

const alarms = Object.entries(resources('AWS::CloudWatch::Alarm')).map(([id, { Properties }]) => ({
  id: id.replace(/^Alarms|[0-9A-F]{8}$/g, ''),
  ...(Properties as unknown as AlarmProperties),
}));
const headingOf = ({ AlarmDescription }: AlarmProperties): string =>
  / See docs\/runbook\.md#([a-z0-9-]+)$/.exec(AlarmDescription)?.[1] ?? `none in: ${AlarmDescription}`;

const runbook = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8');
const parts = runbook.split(/^## /m).slice(1);
const slugOf = (part: string): string =>
  (part.split('\n')[0] ?? '').toLowerCase().replaceAll(' ', '-').replaceAll("'", '');

test('every alarm has its part of the runbook, and every part an alarm', () => {
  expect(alarms.length).toBeGreaterThan(30);
  expect(new Set(alarms.map(headingOf))).toEqual(new Set(parts.map(slugOf)));
});

test('every part of the runbook says what it means, where to look and what to do', () => {
  for (const part of parts)
    for (const word of ['**Means**', '**Look**', /\*\*(Act|act)\*\*/]) expect(part).toMatch(word);
  const links = [...runbook.matchAll(/\]\(#([a-z0-9-]+)\)/g)].map(([, link]) => link);
  expect(links.length).toBeGreaterThan(5);
  const headings = runbook.split(/^##+ /m).slice(1).map(slugOf);
  for (const link of links) expect(headings).toContain(link);
});

test('every alarm tells the topic, which is encrypted and which CloudWatch alone may tell anything', () => {
  const [topicId] = Object.keys(resources('AWS::SNS::Topic'));
  for (const { id, AlarmActions } of alarms) expect([id, AlarmActions]).toEqual([id, [{ Ref: topicId }]]);
  const { KmsMasterKeyId } = resource('AWS::SNS::Topic').Properties as {
    KmsMasterKeyId: { 'Fn::GetAtt': [string, string] };
  };
  const key = resources('AWS::KMS::Key')[KmsMasterKeyId['Fn::GetAtt'][0]];
  expect(key?.Properties.KeyPolicy).toMatchObject({
    Statement: expect.arrayContaining([
      expect.objectContaining({
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext'],
      }),
    ]),
  });
  const { Statement } = resource('AWS::SNS::TopicPolicy').Properties.PolicyDocument as {
    Statement: { Effect: string; Principal: unknown; Action: string }[];
  };
  expect(
    Statement.map(({ Effect, Principal, Action }) => [Effect, JSON.stringify(Principal), Action]),
  ).toEqual(
    expect.arrayContaining([
      ['Deny', '"*"', 'sns:Publish'],
      ['Allow', '{"Service":"cloudwatch.amazonaws.com"}', 'sns:Publish'],
    ]),
  );
  expect(resource('AWS::SNS::Subscription').Properties).toMatchObject({
    Protocol: 'email',
    Endpoint: 'someone@example.com',
  });
});

test('silence is well, but of scheduled functions', () => {
  for (const { id, TreatMissingData, ComparisonOperator } of alarms)
    expect([id, TreatMissingData, ComparisonOperator]).toEqual(
      id === 'ReconcilerSilent' || id === 'RetentionSilent'
        ? [id, 'ignore', 'LessThanThreshold']
        : [id, 'notBreaching', 'GreaterThanOrEqualToThreshold'],
    );
});

/** The values of an alarm's metrics in one period. A metric without data is absent. */
type Period = Readonly<Record<string, number>>;

/**
 * The states of an alarm for values below its threshold, one for each period. As documented, it starts with
 * INSUFFICIENT_DATA, `breaching` counts missing values as bad, and with `ignore` only values change the state.
 */
function statesOf(
  properties: Record<string, unknown>,
  periods: readonly Period[],
  fillsEmpty: boolean,
): string[] {
  const { EvaluationPeriods, DatapointsToAlarm, Threshold, TreatMissingData } = properties as Record<
    'EvaluationPeriods' | 'DatapointsToAlarm' | 'Threshold',
    number
  > & { TreatMissingData: string };
  const metrics = (properties.Metrics ?? [{ Id: 'runs' }]) as { Id: string; Expression?: string }[];
  const { Expression = 'runs' } = metrics.find((metric) => metric.Expression !== undefined) ?? {};
  const names = metrics.filter((metric) => metric.Expression === undefined).map(({ Id }) => Id);
  let state = 'INSUFFICIENT_DATA';
  return periods.map((_period, last) => {
    const range = periods.slice(0, last + 1).slice(-EvaluationPeriods);
    const isFilled = (name: string) => fillsEmpty || range.some((period) => name in period);
    const formula = Expression.replaceAll(/FILL\((\w+), (\d+)\)/g, (_match, name: string, value: string) =>
      isFilled(name) ? `(${name} ?? ${value})` : name,
    );
    const evaluateFormula = new Function(...names, `return ${formula};`) as (...values: unknown[]) => number;
    const values = range.map((period) => evaluateFormula(...names.map((name) => period[name])));
    // The formula has no value if one of its metrics has none.
    const measured = values.filter((value) => Number.isFinite(value));
    const bad = measured.filter((value) => value < Threshold).length;
    const counted = TreatMissingData === 'breaching' ? EvaluationPeriods - measured.length + bad : bad;
    if (counted >= DatapointsToAlarm) state = 'ALARM';
    else if (measured.length > bad) state = 'OK';
    return state;
  });
}

test.each([true, false])(
  'the reconciler is silent after a quarter of an hour without a run, and not before its first (FILL of an empty metric: %s)',
  (fillsEmpty) => {
    const { Properties } = resource('AWS::CloudWatch::Alarm', 'AlarmsReconcilerSilent');
    const states = (...periods: Period[]) => statesOf(Properties, periods, fillsEmpty);
    const [none, polled, ran] = [{}, { messages: 0 }, { messages: 0, runs: 1 }];
    // Whether FILL fills a metric that is empty in all periods is not documented. SQS has metrics a quarter of an hour after a queue is made, the schedule runs within the first five minutes.
    expect(states(none, { runs: 1 }, { runs: 1 }, ran, ran)).toEqual([
      'INSUFFICIENT_DATA',
      'INSUFFICIENT_DATA',
      'INSUFFICIENT_DATA',
      'OK',
      'OK',
    ]);
    expect(states(none, none, none, none, none)).not.toContain('ALARM');
    expect(states(polled, ran, ran)).not.toContain('ALARM');
    expect(states(ran, polled, polled, polled, polled, polled, none, ran)).toEqual([
      ...['OK', 'OK', 'OK'],
      ...['ALARM', 'ALARM', 'ALARM', 'ALARM'],
      'OK',
    ]);
  },
);

test('there is one for each function whose errors are crashes, and none for the authorizer, which throws at wrong keys', () => {
  const functions = Object.keys(resources('AWS::Lambda::Function'))
    .filter((id) => !id.startsWith('Custom') && !id.startsWith('AWSCDK'))
    .map((id) => id.replace(/[0-9A-F]{8}$/, ''));
  const watched = alarms
    .filter((alarm) => headingOf(alarm) === 'function-errors')
    .map(({ id }) => id.replace(/Errors$/, ''));
  expect(watched.toSorted()).toEqual(functions.filter((name) => name !== 'AuthorizeRequest').toSorted());
});

test('the alarms of the service’s own metrics name such as functions tell', () => {
  const own = alarms.flatMap(({ Metrics, Namespace, MetricName, Dimensions }) =>
    [...(Metrics ?? []).map(({ MetricStat }) => MetricStat?.Metric), { Namespace, MetricName, Dimensions }]
      .filter((metric) => metric?.Namespace === 'agent-service-production')
      .map((metric) => [
        metric?.MetricName,
        metric?.Dimensions?.map(({ Name, Value }) => `${Name}=${Value}`).join(),
      ]),
  );
  expect(own).toContainEqual([metrics.overdueBatches.name, 'service=agent-service']);
  expect(own).toContainEqual([metrics.webhooksExhausted.name, 'service=agent-service']);
  expect(own).toContainEqual([metrics.timeToFirstDelta.name, 'route=send-message,service=agent-service']);
  expect(own).toContainEqual([metrics.modelFailures.name, 'failure=stalled,service=agent-service']);
  const known = Object.values(metrics).map(({ name }) => name as string);
  for (const [name] of own) expect(known).toContain(name);
});

test('the alarm of CloudFront is made where CloudFront tells its metrics, of dimensions that they have', () => {
  const [alarm] = Object.entries(template.findResources('AWS::CloudWatch::Alarm')).filter(([id]) =>
    id.includes('DistributionErrors'),
  );
  const { Conditions } = template.toJSON() as { Conditions: Record<string, unknown> };
  expect(Conditions[alarm?.[1].Condition]).toEqual({
    'Fn::Equals': [{ Ref: 'AWS::Region' }, 'us-east-1'],
  });
  expect(alarm?.[1].Properties.Dimensions).toEqual([
    { Name: 'DistributionId', Value: { Ref: 'Distribution' } },
    { Name: 'Region', Value: 'Global' },
  ]);
});

test('elsewhere a stack in us-east-1 has it, with a topic of its own', () => {
  const { app, stack: service } = createService({ settings });
  const stage = readStage(app.node);
  const stack = new DistributionAlarms(app, 'DistributionAlarms', { stage, service, region: 'eu-west-1' });
  expect([stack.region, stack.stackName]).toEqual([
    'us-east-1',
    // The name includes the Region, because the same stage in another Region is another service.
    'agent-service-production-distribution-eu-west-1',
  ]);
  const { Resources } = Template.fromStack(stack).toJSON() as { Resources: Record<string, Resource> };
  const of = (type: string) => Object.entries(Resources).filter(([, { Type }]) => Type === type);
  const [[topicId] = []] = of('AWS::SNS::Topic');
  const [[, alarm] = [], ...others] = of('AWS::CloudWatch::Alarm');
  expect(others).toEqual([]);
  const inService = resource('AWS::CloudWatch::Alarm', 'AlarmsDistributionErrors');
  expect(alarm).toEqual({
    ...inService,
    Properties: {
      ...inService.Properties,
      AlarmActions: [{ Ref: topicId }],
      Dimensions: [
        {
          Name: 'DistributionId',
          Value: {
            'Fn::GetStackOutput': {
              StackName: 'agent-service-production',
              OutputName: 'DistributionId',
              Region: 'eu-west-1',
            },
          },
        },
        { Name: 'Region', Value: 'Global' },
      ],
    },
  });
  expect(of('AWS::SNS::Subscription').map(([, { Properties }]) => Properties.Endpoint)).toEqual(
    settings.alarmEmails,
  );
  expect(template.findOutputs('DistributionId').DistributionId?.Value).toEqual({ Ref: 'Distribution' });
});

test('dead letters count that a function has taken away at once', () => {
  const { Metrics } = resource('AWS::CloudWatch::Alarm', 'AlarmsDeadLetters').Properties as {
    Metrics: { MetricStat?: { Metric: { MetricName: string; Dimensions: Dimension[] } } }[];
  };
  const names = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric.MetricName ?? []);
  expect(names.toSorted()).toEqual(['ApproximateNumberOfMessagesVisible', 'NumberOfMessagesReceived']);
  expect(JSON.stringify(Metrics)).toContain('BatchesDeadLetters');
});

test('a rollout goes back when the function crashes or the gateway answers with errors; CodeDeploy takes ten alarms', () => {
  const groups = Object.entries(resources('AWS::CodeDeploy::DeploymentGroup'));
  const aliases = Object.values(template.findResources('AWS::Lambda::Alias'));
  expect(groups).toHaveLength(aliases.length);
  for (const { UpdatePolicy } of aliases)
    expect(groups.map(([id]) => id)).toContain(
      UpdatePolicy.CodeDeployLambdaAliasUpdate.DeploymentGroupName.Ref,
    );
  for (const [id, { Properties }] of groups) {
    const { Alarms } = Properties.AlarmConfiguration as { Alarms: { Name: { Ref: string } }[] };
    const own = id.startsWith('RolloutAuthorizeRequest') ? [] : [/Errors/];
    expect(Alarms.map(({ Name }) => Name.Ref)).toEqual(
      [...own, /^AlarmsGatewayErrors/].map((name) => expect.stringMatching(name)),
    );
    expect(Properties).toMatchObject({
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: ['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM'],
      },
    });
  }
});

test('all at once needs no CodeDeploy', () => {
  const development = synthesize({ stage: 'development' });
  expect(development.resources('AWS::CodeDeploy::DeploymentGroup')).toEqual({});
  expect(JSON.stringify(development.template.toJSON())).not.toContain('CodeDeploy');
});

test('the dashboard shows clients, models, batches and costs, of metrics that there are', () => {
  const { DashboardBody } = resource('AWS::CloudWatch::Dashboard').Properties as {
    DashboardBody: { 'Fn::Join': [string, unknown[]] };
  };
  const body = DashboardBody['Fn::Join'][1]
    .map((part) => (typeof part === 'string' ? part : 'name'))
    .join('');
  const { widgets } = JSON.parse(body) as { widgets: { properties: { title?: string } }[] };
  expect(widgets.flatMap(({ properties }) => properties.title ?? [])).toEqual([
    'Requests by route',
    'Errors by code',
    'Responses of the gateway',
    'Time to the first delta, ms',
    'Web functions: responses with 5xx',
    'Web functions: all that Lambda reports',
    'Tokens by model',
    'Failures of models',
    'Tokens by workspace',
    'Requests of batches',
    'Age of batches at their end, s',
    'Waiting and failed work',
    'Webhooks',
    'Units of the table',
    'Time of functions, ms',
    'Calls of functions',
    'Queues, workflow, keys and secrets (the last three of the whole account)',
  ]);
  const known = Object.values(metrics).map(({ name }) => name as string);
  const searched = [
    ...body.matchAll(/SEARCH\('\{\\"agent-service-production\\",service,(\w+)\} MetricName=\\"(\w+)\\"'/g),
  ];
  expect(searched.length).toBeGreaterThan(5);
  for (const [, dimension, name] of searched) {
    expect(known).toContain(name);
    const metric = Object.values(metrics).find((each) => each.name === name);
    expect(metric?.dimensions.map((set) => set.join())).toContain(dimension);
  }
  expect(body).toContain('sum(PromptTokens) as prompt');
});

test('without web functions, the dashboard and the alarms have nothing of them', () => {
  const plain = synthesize({ settings: { webFunctions: 'none' } });
  const watching = [
    ...Object.values(plain.resources('AWS::CloudWatch::Alarm')),
    plain.resource('AWS::CloudWatch::Dashboard'),
  ];
  expect(watching.length).toBeGreaterThan(30);
  expect(JSON.stringify(watching)).not.toMatch(/AWS\/Lambda\/Web|web function|Strangers/i);
});

test('the tokens of a workspace are counted in the logs of all that reply', () => {
  const { DashboardBody } = resource('AWS::CloudWatch::Dashboard').Properties;
  for (const Ref of ['ProcessBatchItemsLogs', 'ServeChatsLogs'])
    expect(JSON.stringify(DashboardBody)).toContain(JSON.stringify({ Ref }));
  const functions = synthesize({ settings: { webFunctions: 'uploads' } }).resource(
    'AWS::CloudWatch::Dashboard',
  );
  for (const Ref of ['SendMessageLogs', 'CompleteChatLogs', 'ProcessBatchItemsLogs'])
    expect(JSON.stringify(functions.Properties)).toContain(JSON.stringify({ Ref }));
});

test.each([
  ['aws', 'eu-west-1', 'console.aws.amazon.com'],
  ['aws-cn', 'cn-north-1', 'console.amazonaws.cn'],
  ['aws-us-gov', 'us-gov-west-1', 'console.amazonaws-us-gov.com'],
  ['aws-eusc', 'eusc-de-east-1', 'console.amazonaws-eusc.eu'],
  ['aws-of-tomorrow', 'tomorrow-1', 'console.aws.amazon.com'],
])('the address of the dashboard is in the console of the partition %s', (partition, region, domain) => {
  const { Value } = template.findOutputs('DashboardAddress').DashboardAddress ?? {};
  const [dashboard] = Object.keys(resources('AWS::CloudWatch::Dashboard'));
  expect(evaluate(template, Value, { 'AWS::Partition': partition, 'AWS::Region': region })).toBe(
    `https://${domain}/cloudwatch/home?region=${region}#dashboards/dashboard/${dashboard}`,
  );
});

const propertiesOfAll = (type: string) => Object.values(resources(type)).map(({ Properties }) => Properties);

test('docs/cost.md reckons with what stands in the template', () => {
  const schedules = propertiesOfAll('AWS::Events::Rule').map(({ ScheduleExpression }) => ScheduleExpression);
  const metrics = propertiesOfAll('AWS::CloudWatch::Alarm').flatMap(({ Metrics }) =>
    ((Metrics ?? [{ MetricStat: {} }]) as { MetricStat?: object }[]).filter(
      ({ MetricStat }) => MetricStat !== undefined,
    ),
  );
  const polled = propertiesOfAll('AWS::Lambda::EventSourceMapping').map(({ EventSourceArn }) =>
    JSON.stringify(EventSourceArn),
  );
  expect({
    alarmMetrics: metrics.length,
    dashboards: propertiesOfAll('AWS::CloudWatch::Dashboard').length,
    keys: propertiesOfAll('AWS::KMS::Key').length,
    secrets: propertiesOfAll('AWS::SecretsManager::Secret').length,
    polledQueues: new Set(polled).size,
    schedules: schedules.toSorted(),
  }).toEqual({
    alarmMetrics: fixedCosts.alarmMetrics,
    dashboards: fixedCosts.dashboards,
    keys: fixedCosts.keys,
    secrets: fixedCosts.secrets,
    polledQueues: fixedCosts.polledQueues,
    schedules: [`rate(${fixedCosts.retentionHours} hour)`, `rate(${fixedCosts.reconcilerMinutes} minute)`],
  });
});
