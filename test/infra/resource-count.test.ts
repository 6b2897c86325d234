import { readFileSync } from 'node:fs';
import { CfnResource } from 'aws-cdk-lib/core';
import { expect, test } from 'vitest';
import { settingNames } from '#lib/settings.ts';
import { createService, synthesize } from './synthesize.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, n) => `person-${n}@example.com`);

/** The settings that add resources to a template, each with the value that adds most. */
const adding = {
  rollout: 'Canary10Percent5Minutes',
  domain: {
    name: 'agents.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d',
    hostedZone: { id: 'Z0123456789', name: 'example.com' },
  },
  firewall: {},
  originSecretGeneration: 2,
  corsOrigins: ['https://app.example.com'],
  alarmEmails: addresses(10),
  webSearch: { provider: 'brave' },
};

/** Settings of which not every value adds as much as every other: all their combinations are built. */
const combined = [true, false].flatMap((production) =>
  [
    { webFunctions: 'all' },
    { webFunctions: 'all', bothEntryPoints: true },
    { webFunctions: 'uploads' },
    { webFunctions: 'uploads', bothEntryPoints: true },
    { webFunctions: 'none' },
  ].map((entryPoints) => ({
    production,
    ...entryPoints,
  })),
);

/** A value other than the default of each setting that adds no resource. */
const neutral = {
  authorizerCacheSeconds: 0,
  rateLimits: { sends: 'none' },
  gatewayRequestsPerSecond: 10,
  webRequestsPerSecond: 100,
  webEnvironments: 10,
  requestsPerEnvironment: 32,
  streamTimeoutSeconds: 60,
  openAiBaseUrl: 'https://models.example.com/v1',
  bedrockModels: ['amazon.nova-lite-v1:0', 'eu.amazon.nova-lite-v1:0'],
  bedrockKnowledgeBases: ['ABCDE12345'],
  outboundAllow: ['wiki.internal:443'],
  batchTimeoutSeconds: 3600,
  batchWorkers: 10,
  requestsPerWorker: 10,
  webhookAllow: ['127.0.0.1:8080'],
  accountConcurrency: 2000,
  preparationConcurrency: 10,
  otherStacksConcurrency: 200,
  reservedConcurrency: false,
  logLevel: 'WARN',
  logRetentionDays: 7,
};

/** The table of its own leaves the stack. */
const removing = { restoredTable: 'restored' };

const idsOf = (settings: Record<string, unknown>): string[] =>
  Object.keys((synthesize({ settings }).template.toJSON() as { Resources: object }).Resources);
/** Counted in the tree of constructs: a synthesis takes four times as long, and adds none. */
const countOf = (settings: Record<string, unknown>): number =>
  createService({ settings }).stack.node.findAll().filter(CfnResource.isCfnResource).length;
const without = (name: string) => Object.fromEntries(Object.entries(adding).filter(([key]) => key !== name));

/** CloudFormation takes 500. The rest is for what a change or a repair adds. */
const most = 450;

test('every setting is one that adds resources, adds none, or removes one', () => {
  const known = Object.keys({ ...adding, ...neutral, ...removing, ...combined[1] });
  expect(known.toSorted()).toEqual(settingNames.toSorted());
});

test('production as cdk.json has it has at most 420 resources', () => {
  expect(countOf({})).toBeLessThanOrEqual(420);
});

test('a synthesis adds no resource to those that are counted', () => {
  const settings = { ...adding, ...combined[1] };
  expect(countOf(settings)).toBe(idsOf(settings).length);
});

test('the settings that add none add none', () => {
  expect(countOf({ webFunctions: 'all', ...neutral })).toBe(countOf({ webFunctions: 'all' }));
});

test('a restored table takes the place of one resource', () => {
  expect(countOf(removing)).toBe(countOf({}) - 1);
});

test(`the largest form that the settings allow has at most ${most} resources`, () => {
  const counts = combined.map((settings) => [settings, countOf({ ...adding, ...settings })] as const);
  const [largest = [{}, 0] as const] = counts.toSorted(([, a], [, b]) => b - a);
  console.log(`Resources of the largest form: ${largest[1]}, ${JSON.stringify(largest[0])}`);
  expect(largest[1]).toBeLessThanOrEqual(most);
  // It is the largest: without any one of the settings, or with a roll-out at once, there are fewer.
  for (const name of Object.keys(adding))
    if (name !== 'rollout')
      expect([name, countOf({ ...without(name), ...largest[0] })]).toEqual([
        name,
        expect.toSatisfy((count) => count < largest[1]),
      ]);
  expect(countOf({ ...adding, ...largest[0], rollout: 'AllAtOnce' })).toBeLessThan(largest[1]);
});

test('the recipe for a route says how many resources it adds', () => {
  const recipe = readFileSync(new URL('../../docs/recipes/add-a-route.md', import.meta.url), 'utf8');
  const [, stated, withCors] = /adds (\d+) resources.*?(\d+) with `corsOrigins`/s.exec(recipe) ?? [];
  const counts = ([corsOrigins]: string[][]) =>
    idsOf({ ...(corsOrigins !== undefined && { corsOrigins }) }).filter((id) =>
      /StopReply|v1chatschatidstop/.test(id),
    ).length;
  expect([counts([]), counts([['https://app.example.com']])]).toEqual([Number(stated), Number(withCors)]);
});
