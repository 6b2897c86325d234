import { expect, test } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { type Statement, synthesize } from './synthesize.ts';

const { resources, resource, statements, environments } = synthesize();
const functions = Object.entries(resources('AWS::Lambda::Function')).map(
  ([id, value]) => [id.replace(/[0-9A-F]{8}$/, ''), value] as const,
);

test('unless a stage says otherwise, its functions reach public addresses alone, search nowhere, and show no error of a provider', () => {
  const given = new Set([...environments.values()].flatMap(Object.keys));
  expect(given).toContain(variables.webhookRetrySeconds);
  for (const name of [variables.showProviderErrors, variables.webhookPlainLoopback, variables.webhookAllow])
    expect(given).not.toContain(name);
  expect([...given].filter((name) => /OUTBOUND|SEARCH/.test(name))).toEqual([]);
});

test('queues call aliases, which no permission of a role shows', () => {
  const mappings = Object.values(resources('AWS::Lambda::EventSourceMapping'));
  expect(mappings).toHaveLength(2);
  for (const { Properties } of mappings)
    expect(JSON.stringify(Properties.FunctionName)).toMatch(/"\w+Live[0-9A-F]{8}"|":live"/);
});

test('time-outs of a reply stand in order: lease, stall, plain reply, function', () => {
  const given = environments.get('SendMessage') ?? {};
  const order = [
    Number(given[variables.leaseSeconds]),
    Number(given[variables.streamTimeoutSeconds]),
    Number(given[variables.plainReplySeconds]),
    120, // CloudFront's read timeout
    Number(resource('AWS::Lambda::Function', 'SendMessage').Properties.Timeout),
  ];
  expect(order).toEqual([30, 90, 110, 120, 315]);
  expect(order).toEqual(order.toSorted((a, b) => a - b));
});

test('outputs and functions tell what agents may call', () => {
  const toolFunctions = ['orders:live', 'refunds:7'].map(
    (name) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`,
  );
  const { template } = synthesize({ settings: { toolFunctions, toolAllow: ['crm.internal:443'] } });
  const { Outputs, Resources } = template.toJSON();
  expect(Outputs.ToolFunctions).toEqual({ Value: JSON.stringify(toolFunctions) });
  expect(JSON.stringify(Resources)).toContain('"TOOL_ALLOW":"crm.internal:443"');
});

test('no function is given a secret as a plain value', () => {
  for (const [, { Properties }] of functions)
    expect(JSON.stringify(Properties.Environment)).not.toMatch(/resolve:secretsmanager|SecretString/);
});

/** The permission that X-Ray tracing needs: X-Ray has no ARNs to restrict it to. */
const isTracing = ({ Action, Resource }: Statement): boolean =>
  Resource === '*' && [Action].flat().toSorted().join() === 'xray:PutTelemetryRecords,xray:PutTraceSegments';

test('only the workflow and the roll-out have permissions on every resource, apart from tracing', () => {
  const owners = [...statements].filter(([, all]) =>
    all.some((statement) => [statement.Resource].flat().includes('*') && !isTracing(statement)),
  );
  // To deliver logs, and to describe alarms.
  expect(owners.map(([owner]) => owner).toSorted()).toEqual(['BatchesMachine', 'Rollout']);
});
