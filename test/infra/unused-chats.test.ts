import { expect, test } from 'vitest';
import { synthesize } from './synthesize.ts';

const { resource, resources } = synthesize();

test('unused chats are deleted every hour, by a run that ends before the next one starts', () => {
  const rules = Object.entries(resources('AWS::Events::Rule')).filter(([id]) =>
    id.startsWith('PurgeUnusedChats'),
  );
  expect(rules.map(([, { Properties }]) => Properties)).toEqual([
    expect.objectContaining({
      ScheduleExpression: 'rate(1 hour)',
      Targets: [
        expect.objectContaining({
          Arn: { Ref: expect.stringMatching(/^DeleteUnusedChatsLive/) },
          RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 3000 },
        }),
      ],
    }),
  ]);
  const configuration = Object.entries(resources('AWS::Lambda::EventInvokeConfig')).find(([id]) =>
    id.startsWith('DeleteUnusedChats'),
  );
  expect(configuration?.[1].Properties).toMatchObject({
    MaximumRetryAttempts: 0,
    MaximumEventAgeInSeconds: 3000,
  });
  const { Timeout } = resource('AWS::Lambda::Function', 'DeleteUnusedChats').Properties as {
    Timeout: number;
  };
  expect(3000 + Timeout).toBeLessThan(3600);
});

test('three hours without a successful run are an alarm', () => {
  const { Metrics, ...silent } = resource('AWS::CloudWatch::Alarm', 'AlarmsRetentionSilent').Properties;
  expect(silent).toMatchObject({ DatapointsToAlarm: 3, EvaluationPeriods: 4, Threshold: 1 });
  for (const text of ['"Period":3600', 'PurgePurges', '"Errors"', '"Invocations"'])
    expect(JSON.stringify(Metrics)).toContain(text);
});
