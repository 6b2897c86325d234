import { Template } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { type RouteName, routes } from '#contract/routes.ts';
import { createService, domain, synthesize } from './synthesize.ts';

/** What settings can add. Only buckets of other stages than production are emptied by a function. */
const largest = {
  webFunctions: 'all',
  bothEntryPoints: true,
  production: false,
  rollout: 'Canary10Percent5Minutes',
  domain,
  firewall: {},
  originSecretGeneration: 2,
  corsOrigins: ['https://app.example.com'],
  alarmEmails: Array.from({ length: 10 }, (_, n) => `person-${n}@example.com`),
  webSearch: { provider: 'brave' },
  openAiEndpoints: Object.fromEntries(
    [...'abcdefghij'].map((name) => [name, { url: 'https://models.example.com/v1' }]),
  ),
};

const idsOf = (settings: Record<string, unknown>): string[] =>
  Object.keys((synthesize({ settings }).template.toJSON() as { Resources: object }).Resources);
test('the largest form that the settings allow has at most 430 resources, of 500', () => {
  const { length } = idsOf(largest);
  console.log(`Resources of the largest form: ${length}`);
  expect(length).toBeLessThanOrEqual(430);
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
