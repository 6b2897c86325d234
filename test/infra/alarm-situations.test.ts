import { describe, expect, test } from 'vitest';
import {
  type AlarmProperties,
  type AlarmState,
  queryOf,
  statesOf,
} from '#support/cloudwatch/alarm-states.ts';
import type { MetricData } from '#support/cloudwatch/metric-data.ts';
import { readings } from '#support/cloudwatch/metric-math.ts';
import { type Form, forms, listSituations, normalDay } from '#support/cloudwatch/normal-day.ts';
import { requestSituations } from '#support/cloudwatch/request-situations.ts';
import { workSituations } from '#support/cloudwatch/work-situations.ts';
import { synthesize } from './synthesize.ts';

const situations = listSituations({ ...requestSituations, ...workSituations });
type Situation = (typeof situations)[number];

const withoutHash = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');

/** Dimensions that have the same value in all metrics of their namespace. */
const common = [
  'ApiName',
  'DistributionId',
  'EndpointName',
  'Region',
  'Stage',
  'StateMachineArn',
  'TableName',
  'service',
];

/** A reference as the logical id of its resource, without its hash; of a joined text the last part. */
function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const [[name, inner] = []] = Object.entries(value) as [string, unknown][];
  if (name === 'Fn::Join') return textOf((inner as [string, unknown[]])[1].at(-1)).replace(/^.*-/, '');
  return withoutHash(String([inner].flat()[0]));
}

/** A metric as situations name it. */
function nameOf({
  Namespace,
  MetricName,
  Dimensions = [],
}: Parameters<Parameters<typeof statesOf>[1]>[0]): string {
  const namespace = Namespace.startsWith('AWS/') ? Namespace.slice(4) : 'own';
  const dimensions = Dimensions.filter(({ Name }) => !common.includes(Name)).map(({ Value }) =>
    textOf(Value),
  );
  return [namespace, MetricName, ...dimensions].join(' ');
}

function readTemplate(form: Form, settings: Readonly<Record<string, unknown>> = {}) {
  const { resources } = synthesize({ settings: { webFunctions: form, ...settings } });
  const alarmIds = Object.keys(resources('AWS::CloudWatch::Alarm'));
  const idOf = (logicalId: string) => withoutHash(logicalId).replace(/^Alarms/, '');
  const groups = Object.entries(resources('AWS::CodeDeploy::DeploymentGroup')).map(([id, { Properties }]) => {
    const { Alarms }: { Alarms: { Name: { Ref: string } }[] } = Properties.AlarmConfiguration;
    return [withoutHash(id).replace(/^Rollout/, ''), Alarms.map(({ Name }) => idOf(Name.Ref))] as const;
  });
  return {
    alarms: alarmIds.map(
      (id) => [idOf(id), resources('AWS::CloudWatch::Alarm')[id]?.Properties as AlarmProperties] as const,
    ),
    rolloutAlarms: new Map(groups),
    accountConcurrency: Number(settings.accountConcurrency ?? 1000),
    reserved: Object.values(resources('AWS::Lambda::Function')).reduce(
      (sum, { Properties }) => sum + Number(Properties.ReservedConcurrentExecutions ?? 0),
      0,
    ),
  };
}

const templates = new Map<string, ReturnType<typeof readTemplate>>();
function templateOf(form: Form, settings?: Situation['settings']) {
  const key = JSON.stringify([form, settings]);
  const template = templates.get(key) ?? readTemplate(form, settings);
  templates.set(key, template);
  return template;
}

/** Metrics without data, because nothing calls what they measure. */
const uncalled: Readonly<Record<Form, RegExp>> = {
  all: /^Lambda \w+ (SendMessage|CreateChat|ResumeStream|CompleteChat)$/,
  uploads: /^Lambda\/Web \w+ chats$/,
  none: /^Lambda\/Web /,
};

/** The data of a metric, from two hours before the trouble until four hours after it. */
function dataOf(
  { trouble: [from, to], minutes = to + 240, changes }: Situation,
  form: Form,
  account: Parameters<typeof normalDay>[0],
) {
  const normal = normalDay(account);
  const first = Math.max(0, from - 120);
  const made = new Map<string, MetricData>();
  return (name: string): MetricData => {
    const data =
      made.get(name) ??
      Array.from({ length: minutes - first }, (_, index) => {
        if (uncalled[form].test(name)) return undefined;
        const minute = first + index;
        const usual = normal[name]?.(minute, undefined);
        const change = minute >= from && minute < to ? changes[name] : undefined;
        return change === undefined ? usual : change(minute, usual);
      });
    made.set(name, data);
    return data;
  };
}

/** The states of alarms that a situation does not concern, by all that they depend on. */
const statesOfOthers = new Map<string, AlarmState[]>();

/** For each alarm of a stage the states through a situation, in each reading of AWS's documents. */
function statesThrough(situation: Situation, form: Form) {
  const { settings, trouble, minutes, changes } = situation;
  const { alarms, ...account } = templateOf(form, settings);
  const data = dataOf(situation, form, account);
  return readings.map((reading) =>
    alarms.map(([id, properties]) => {
      const calculate = () => statesOf(properties, (metric) => data(nameOf(metric)), reading);
      const concerned = queryOf(properties).series.some(({ metric }) => nameOf(metric) in changes);
      if (concerned) return [id, calculate()] as const;
      const key = JSON.stringify([id, form, settings, trouble, minutes, reading]);
      const states = statesOfOthers.get(key) ?? calculate();
      statesOfOthers.set(key, states);
      return [id, states] as const;
    }),
  );
}

const firedOf = (all: ReturnType<typeof statesThrough>[number]): string[] =>
  all.flatMap(([id, states]) => (states.includes('ALARM') ? [id] : [])).toSorted();

const expectedOf = ({ fires, settings }: Situation, form: Form): string[] => {
  const ids: readonly string[] = 'all' in fires ? fires[form] : fires;
  const existing = templateOf(form, settings).alarms.map(([id]) => id);
  return ids.filter((id) => existing.includes(id)).toSorted();
};

describe.each(forms)('with webFunctions of %s', (form) => {
  test.each(situations.map((situation) => [situation.title, situation] as const))('%s', (_, situation) => {
    for (const [index, all] of statesThrough(situation, form).entries()) {
      expect([readings[index], firedOf(all)]).toEqual([readings[index], expectedOf(situation, form)]);
      for (const [id, states] of all)
        if (states.includes('ALARM')) expect([id, states.at(-1)]).toEqual([id, 'OK' satisfies AlarmState]);
    }
  });

  test('each alarm goes off in a situation', () => {
    // An alarm has at most ten functions; those after it do the same for the next ones.
    const kindOf = (id: string): string => id.replace(/\d$/, '');
    const fired = new Set(situations.flatMap((situation) => expectedOf(situation, form)).map(kindOf));
    expect(fired).toEqual(new Set(templateOf(form).alarms.map(([id]) => kindOf(id))));
  });

  test('only faults of the service stop a roll-out, and of the hourly function none of its own', () => {
    const { rolloutAlarms } = templateOf(form);
    const stopping = new Set([...rolloutAlarms.values()].flat());
    expect(stopping).toContain('GatewayErrors');
    for (const situation of situations)
      expect([situation.title, expectedOf(situation, form).some((id) => stopping.has(id))]).toEqual([
        situation.title,
        situation.stopsRollouts ?? false,
      ]);
    expect(rolloutAlarms.get('DeleteUnusedChats')).toEqual(['GatewayErrors']);
  });
});
