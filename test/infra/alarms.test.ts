import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { AlarmProperties as Evaluated } from '#support/cloudwatch/alarm-states.ts';
import { fixedCosts } from '../../bin/cost/fixed-costs.ts';
import { evaluate, synthesize } from './synthesize.ts';

const settings = { webFunctions: 'all', alarmEmails: ['someone@example.com'] };
const { template, resources, resource } = synthesize({ settings });

type AlarmProperties = Evaluated & { AlarmDescription: string; AlarmActions?: unknown[] };

const alarms = Object.entries(resources('AWS::CloudWatch::Alarm')).map(([id, { Properties }]) => ({
  logicalId: id,
  id: id.replace(/^Alarms|[0-9A-F]{8}$/g, ''),
  ...(Properties as AlarmProperties),
}));
const headingOf = ({ AlarmDescription }: AlarmProperties): string =>
  / See docs\/runbook\.md#([a-z0-9-]+)$/.exec(AlarmDescription)?.[1] ?? `none in: ${AlarmDescription}`;

const runbook = readFileSync(join(import.meta.dirname, '../../docs/runbook.md'), 'utf8');
const parts = runbook.split(/^## /m).slice(1);
const slugOf = (part: string): string =>
  (part.split('\n')[0] ?? '').toLowerCase().replaceAll(' ', '-').replaceAll("'", '');

test('every alarm has its part of the runbook, and every part an alarm', () => {
  expect(alarms.length).toBeGreaterThan(20);
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
  const { KmsMasterKeyId } = resource('AWS::SNS::Topic').Properties;
  const key = resources('AWS::KMS::Key')[KmsMasterKeyId['Fn::GetAtt'][0]];
  expect(key?.Properties.KeyPolicy).toMatchObject({
    Statement: expect.arrayContaining([
      expect.objectContaining({
        Principal: { Service: 'cloudwatch.amazonaws.com' },
        Action: ['kms:Decrypt', 'kms:GenerateDataKey', 'kms:GenerateDataKeyWithoutPlaintext'],
      }),
    ]),
  });
  const publish = { Principal: { Service: 'cloudwatch.amazonaws.com' }, Action: 'sns:Publish' };
  expect(resource('AWS::SNS::TopicPolicy').Properties.PolicyDocument.Statement).toMatchObject([
    { Effect: 'Deny', Principal: '*', Action: 'sns:Publish' },
    { Effect: 'Allow', ...publish },
  ]);
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

const functionsOf = (metrics: AlarmProperties['Metrics'], metricName: string): string[] =>
  (metrics ?? []).flatMap(({ MetricStat }) =>
    MetricStat?.Metric.MetricName === metricName
      ? (MetricStat.Metric.Dimensions ?? []).map(({ Value }) =>
          (Value as { Ref: string }).Ref.replace(/[0-9A-F]{8}$/, ''),
        )
      : [],
  );

test.each(['all', 'uploads', 'none'])(
  'with webFunctions of %s, each function whose errors are crashes is in one alarm: not the authorizer, which throws at wrong keys, nor the hourly one, nor that of operators',
  (webFunctions) => {
    const form = synthesize({ settings: { webFunctions } });
    const functions = Object.keys(form.resources('AWS::Lambda::Function'))
      .filter((id) => !id.startsWith('Custom') && !id.startsWith('AWSCDK'))
      .map((id) => id.replace(/[0-9A-F]{8}$/, ''));
    const watching = Object.values(form.resources('AWS::CloudWatch::Alarm'))
      .map(({ Properties }) => Properties as AlarmProperties)
      .filter((alarm) => headingOf(alarm) === 'function-errors');
    const watched = watching.flatMap(({ Metrics }) => functionsOf(Metrics, 'Errors'));
    const others = ['AuthorizeRequest', 'DeleteUnusedChats', 'TestAgent'];
    expect(watched.toSorted()).toEqual(functions.filter((name) => !others.includes(name)).toSorted());
  },
);

test('a filter of the gateway’s log counts the responses with 429, as the log writes the status', () => {
  const { Properties } = resource('AWS::Logs::MetricFilter');
  expect(Properties).toMatchObject({
    FilterPattern: '{ $.status = "429" }',
    LogGroupName: { Ref: 'GatewayAccessLogs' },
    MetricTransformations: [
      { MetricName: 'Responses429', MetricNamespace: 'agent-service-production', MetricValue: '1' },
    ],
  });
  const { AccessLogSetting } = resource('AWS::ApiGateway::Stage').Properties;
  expect(JSON.parse(AccessLogSetting.Format)).toMatchObject({ status: '$context.status' });
});

test('the alarm of CloudFront is made where CloudFront tells its metrics, of dimensions that they have', () => {
  const found = Object.entries(template.findResources('AWS::CloudWatch::Alarm'));
  const [, alarm = {}] = found.find(([id]) => id.includes('DistributionErrors')) ?? [];
  expect(template.toJSON().Conditions[alarm.Condition]).toEqual({
    'Fn::Equals': [{ Ref: 'AWS::Region' }, 'us-east-1'],
  });
  const { Metrics = [] } = alarm.Properties as AlarmProperties;
  const watched = Metrics.flatMap(({ MetricStat }) => MetricStat?.Metric ?? []);
  expect(watched.map(({ MetricName }) => MetricName).toSorted()).toEqual(['5xxErrorRate', 'Requests']);
  for (const { Dimensions } of watched)
    expect(Dimensions).toEqual([
      { Name: 'DistributionId', Value: { Ref: 'Distribution' } },
      { Name: 'Region', Value: 'Global' },
    ]);
});

test('a rollout goes back when a function of its group crashes or the gateway answers with errors; CodeDeploy takes ten alarms', () => {
  const groups = Object.entries(resources('AWS::CodeDeploy::DeploymentGroup'));
  expect(groups).toHaveLength(Object.keys(resources('AWS::Lambda::Alias')).length);
  for (const [id, { Properties }] of groups) {
    const { Alarms }: { Alarms: { Name: { Ref: string } }[] } = Properties.AlarmConfiguration;
    const name = id.replace(/^Rollout|[0-9A-F]{8}$/g, '');
    const [gateway, ...own] = Alarms.map(({ Name }) => Name.Ref).toReversed();
    expect(gateway).toMatch(/^AlarmsGatewayErrors/);
    const watched = own.flatMap((alarmId) =>
      functionsOf(alarms.find(({ logicalId }) => logicalId === alarmId)?.Metrics, 'Errors'),
    );
    if (['AuthorizeRequest', 'DeleteUnusedChats', 'TestAgent'].includes(name)) expect(own).toEqual([]);
    else expect([own.length, watched]).toEqual([1, expect.arrayContaining([name])]);
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

test('the tokens of a workspace are counted in the logs of all that reply', () => {
  const { DashboardBody } = resource('AWS::CloudWatch::Dashboard').Properties;
  for (const Ref of ['ProcessBatchItemsLogs', 'ServeChatsLogs'])
    expect(JSON.stringify(DashboardBody)).toContain(JSON.stringify({ Ref }));
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
  const { alarmMetrics, dashboards, keys, secrets, polledQueues, retentionHours, reconcilerMinutes } =
    fixedCosts;
  expect({
    alarmMetrics: metrics.length,
    dashboards: propertiesOfAll('AWS::CloudWatch::Dashboard').length,
    keys: propertiesOfAll('AWS::KMS::Key').length,
    secrets: propertiesOfAll('AWS::SecretsManager::Secret').length,
    polledQueues: new Set(polled).size,
    schedules: schedules.toSorted(),
  }).toEqual({
    ...{ alarmMetrics, dashboards, keys, secrets, polledQueues },
    schedules: [`rate(${retentionHours} hour)`, `rate(${reconcilerMinutes} minute)`],
  });
});
