import { readFileSync } from 'node:fs';
import { Template } from 'aws-cdk-lib/assertions';
import { CfnResource } from 'aws-cdk-lib/core';
import { expect, test } from 'vitest';
import { type RouteName, routes } from '#contract/routes.ts';
import { createService, domain, synthesize } from './synthesize.ts';

const addresses = (count: number) => Array.from({ length: count }, (_, n) => `person-${n}@example.com`);

/** The settings that add resources to a template, each with the value that adds most. */
const adding = {
  rollout: 'Canary10Percent5Minutes',
  domain,
  firewall: {},
  originSecretGeneration: 2,
  corsOrigins: ['https://app.example.com'],
  alarmEmails: addresses(10),
  webSearch: { provider: 'brave' },
  openAiEndpoints: Object.fromEntries(
    [...'abcdefghij'].map((name) => [name, { url: 'https://models.example.com/v1' }]),
  ),
};

/** Only buckets of other stages than production are emptied by a function. `bothEntryPoints` adds to `all` and `uploads`. */
const largest = { ...adding, production: false, webFunctions: 'all', bothEntryPoints: true };

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
  toolFunctions: ['arn:aws:lambda:eu-central-1:123456789012:function:orders:live'],
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

test('the settings that add none add none, and a restored table takes the place of one resource', () => {
  const { length } = idsOf({});
  expect(countOf(neutral)).toBe(length);
  expect(countOf(removing)).toBe(length - 1);
});

test('the largest form that the settings allow has at most 430 resources, of 500', () => {
  const { length } = idsOf(largest);
  console.log(`Resources of the largest form: ${length}`);
  expect(length).toBeLessThanOrEqual(430);
  expect(countOf({ ...largest, webFunctions: 'uploads' })).toBeLessThanOrEqual(length);
  expect(countOf({ ...largest, production: true })).toBeLessThan(length);
});

/** Ten more than the service had when their room was made, less two: for the secrets of ten endpoints, and for an alarm of tools. */
const roomForRoutes = 31;

test('31 routes fit into the largest form, the new ones each with a new path', () => {
  const letters = [...'abcdefghij'].slice(0, roomForRoutes - Object.keys(routes).length);
  const added = letters.map((letter) => {
    const name = `read-${letter}` as RouteName;
    return [name, { ...routes['list-published-agents'], name, path: `/${letter}` }] as const;
  });
  const before = idsOf(largest);
  const all: Record<string, unknown> = routes;
  Object.assign(all, Object.fromEntries(added));
  try {
    const { stack } = createService({ settings: largest });
    const ids = Object.keys(Template.fromStack(stack).toJSON().Resources);
    expect(ids.filter((id) => /^Read[A-J][0-9A-F]{8}$/.test(id))).toHaveLength(letters.length);
    // Nine each, and the alarm of ten functions that crash.
    expect(ids.length - before.length).toBeLessThanOrEqual(9 * letters.length + 1);
  } finally {
    for (const [name] of added) delete all[name];
  }
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
