import { expect, it } from 'vitest';
import { describeIssues } from '#contract/describe-issues.ts';
import { createBatchBody } from '#contract/routes/batches.ts';

const parse = (webhook: object) =>
  createBatchBody.safeParse({
    agent_id: '00000000-0000-4000-8000-000000000000',
    requests: [{ custom_id: 'one', message: 'Hi' }],
    webhook,
  });

/** What is wrong with a webhook; empty if nothing is. */
const problemOf = (webhook: object): string => describeIssues(parse(webhook).error?.issues ?? []);

it.each([
  ...['http://example.com/', 'ftp://example.com/', 'example.com', '', 'http://localhost:8080/'].map(
    (url) => [url, 'must be an https URL'] as const,
  ),
  ...['user:password', 'user', ':password', ''].map(
    (user) =>
      [`https://${user}@example.com/`, 'must be an https URL without a user name and password'] as const,
  ),
])('the address %j of a webhook %s', (url, problem) => {
  expect(problemOf({ url })).toBe(`webhook.url ${problem}`);
});

it.each([
  'https:/example.com/hook',
  'https:example.com/hook',
  'https:///example.com/hook',
  'https:\\\\example.com/hook',
  'https://example.com\\hook',
  ' https://example.com/hook',
  'https://example.com/hook ',
  'https://example.com/ho ok',
  'https://exam\tple.com/hook',
  'https://example.com/hook\n',
  'ht\rtps://example.com/hook',
  'https://example.com/hook\0',
  '\ufeffhttps://example.com/hook',
])('an address that a parser has to repair is rejected: %j', (url) => {
  expect(problemOf({ url })).toMatch(
    /^webhook\.url must be (an https URL|written as https:\/\/HOST, without blanks and backslashes)$/,
  );
});

it.each([
  'HTTPS://Nowhere.invalid/%20?a=%5C#b',
  'https://nowhere.invalid:8443',
  'https://nowhere.invalid/?mail=a@b',
  'https://bücher.invalid/straße',
  'http://127.0.0.1:8080/hook',
])('an address is taken as it is written: %s', (url) => {
  expect(problemOf({ url })).toBe('');
});

it('a webhook has events and a secret that are as they should be', () => {
  const url = 'https://nowhere.invalid/';
  for (const webhook of [
    { url, events: ['in_progress'] },
    { url, secret: '' },
    { url, secret: 'x'.repeat(256) },
    { events: ['completed'] },
  ])
    expect(problemOf(webhook)).toMatch(/^webhook\./);
  expect(parse({ url }).data?.webhook?.events).toEqual(['completed', 'failed']);
  expect(problemOf({ url, secret: '🔑'.repeat(255) })).toBe('');
});
