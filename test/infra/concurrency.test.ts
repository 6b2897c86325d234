import { Match } from 'aws-cdk-lib/assertions';
import { expect, test } from 'vitest';
import { isChatRoute } from '#lib/chat-routes.ts';
import { planConcurrency } from '#lib/concurrency.ts';
import { concurrencyThreshold } from '#lib/function-alarms.ts';
import type { FunctionName } from '#lib/function-names.ts';
import { parseSettings } from '#lib/settings.ts';
import { synthesize } from './synthesize.ts';

const plain = { webFunctions: 'none' };

/** The reserved concurrency and the event sources' concurrency by function, and the warnings of the synth. */
function concurrencyOf(settings: Record<string, unknown> = {}) {
  const { template, warnings } = synthesize({ settings: { ...plain, ...settings } });
  const functions = Object.entries(template.findResources('AWS::Lambda::Function')).map(
    ([id, { Properties }]) => [id.replace(/[0-9A-F]{8}$/, ''), Properties] as const,
  );
  const reserved = functions.flatMap(([name, { ReservedConcurrentExecutions: executions }]) =>
    executions === undefined ? [] : [[name, executions as number] as const],
  );
  const sources = Object.values(template.findResources('AWS::Lambda::EventSourceMapping')).map(
    ({ Properties }) => {
      const target = JSON.stringify(Properties.FunctionName);
      const name = functions.find(([name]) => target.includes(`"${name}`))?.[0] ?? target;
      return [name, Properties.ScalingConfig?.MaximumConcurrency] as const;
    },
  );
  return {
    reserved: Object.fromEntries(reserved),
    sources: Object.fromEntries(sources),
    template,
    warnings,
  };
}

const plan = (settings: Record<string, unknown>) => planConcurrency(parseSettings(settings));
const reservedIn = (settings: Record<string, unknown>, name: FunctionName) =>
  plan(settings).reserved.get(name);
const sum = (reserved: Iterable<number | undefined>) =>
  [...reserved].reduce((total: number, executions = 0) => total + executions, 0);

test('the authorizer and all that may run for long have reservations, which leave the short routes and other stacks theirs', () => {
  const { reserved, sources, warnings } = concurrencyOf();
  expect(reserved).toEqual({
    AuthorizeRequest: 200,
    CompleteChat: 50,
    DeliverWebhook: 50,
    DispatchBatch: 20,
    PrepareAttachment: 50,
    ReconcileBatches: 1,
    ResumeStream: 50,
    SendMessage: 257,
  });
  expect(sources).toEqual({ ProcessBatchItems: 20, PurgeChat: 2 });
  const [account, shortRoutes, otherStacks] = [1000, 200, 100];
  expect(account - sum(Object.values(reserved))).toBe(shortRoutes + 20 + 2 + otherStacks);
  expect(warnings).toEqual([]);
});

test('send-message has what the others leave of a large account, and its part of a small one', () => {
  expect(reservedIn({ ...plain, accountConcurrency: 3000 }, 'send-message')).toBe(2257);
  const given = { ...plain, preparationConcurrency: 100 };
  const { reserved, unreserved } = plan({ ...given, otherStacksConcurrency: 400 });
  // Of 1,000, 523 are given, the reconciler's and of the event sources, and the usual parts of the others are 827.
  expect([reserved.get('prepare-attachment'), reserved.get('send-message')]).toEqual([
    100,
    Math.floor((257 * (1000 - 523)) / 827),
  ]);
  expect(unreserved).toBe(1000 - sum(reserved.values()));
});

const sizes = Array.from({ length: 10_000 - 10 + 1 }, (_, index) => 10 + index);

test.each(['all', 'uploads', 'none'])(
  'with web functions for %s, every account from 10 to 10,000 executions has a plan',
  (webFunctions) => {
    let before = new Map<FunctionName, number>();
    // An `expect` for each of 10,000 accounts would take most of the time.
    const broken: [accountConcurrency: number, rules: string[]][] = [];
    for (const accountConcurrency of sizes) {
      const { reserved, unreserved, batchWorkers, warning } = plan({ webFunctions, accountConcurrency });
      const authorizers = reserved.get('authorize-request') ?? 0;
      const always = {
        'the sum is the account': unreserved === accountConcurrency - sum(reserved.values()),
        // A new account may have less than its event sources could take: Lambda's minimum is two for each of three.
        'workers take a fifth': batchWorkers <= Math.max(2, accountConcurrency / 5),
        'its alarm can go off': concurrencyThreshold(accountConcurrency, { unreserved }) < accountConcurrency,
        'its alarm is not on by reservations alone':
          concurrencyThreshold(accountConcurrency, { unreserved }) - sum(reserved.values()) >=
          Math.ceil(unreserved * 0.8),
      };
      const rules =
        reserved.size === 0
          ? {
              ...always,
              'is warned of': warning?.includes(`accountConcurrency is ${accountConcurrency}.`) === true,
              'is small': accountConcurrency < 170,
            }
          : {
              ...always,
              'is not warned of': warning === undefined,
              // Lambda's minimum, and the workers, purges and as many short routes as authorizers.
              'leaves enough': unreserved >= 100 + batchWorkers + 2 + authorizers,
              'has authorizers': authorizers >= 10,
              'has one reconciler': reserved.get('reconcile-batches') === 1,
              'can send': (reserved.get('send-message') ?? 10) >= 10,
              'reserves for no function without calls':
                webFunctions !== 'all' || ![...reserved.keys()].some(isChatRoute),
              'reserves for each': Math.min(...reserved.values()) >= 1,
              'a larger account has no less': [...before].every(
                ([name, executions]) => (reserved.get(name) ?? 0) >= executions,
              ),
            };
      const failed = Object.entries(rules).flatMap(([rule, isMet]) => (isMet ? [] : [rule]));
      if (failed.length > 0) broken.push([accountConcurrency, failed]);
      if (reserved.size > 0) before = new Map(reserved);
    }
    expect(broken).toEqual([]);
    expect(before.get('authorize-request')).toBe(200);
  },
);

test('what an operator sets is never scaled, and what does not fit is rejected with the sum', () => {
  // Of the usual parts of the others, 827, a twentieth must fit.
  const given = { ...plain, preparationConcurrency: 835 };
  expect(reservedIn(given, 'prepare-attachment')).toBe(835);
  expect(() => parseSettings({ ...given, preparationConcurrency: 836 })).toThrow(
    'accountConcurrency: 1000 has no room for 836 preparationConcurrency + 100 other stacks and the other functions; lower or leave out what you have set, or set reservedConcurrency to false',
  );
  expect(plan({ ...given, preparationConcurrency: 836, reservedConcurrency: false }).reserved.size).toBe(0);
  expect(() => parseSettings({ accountConcurrency: 20, batchWorkers: 20 })).toThrow(
    'batchWorkers is 20, and leaves nothing of 20 to other functions',
  );
  expect(() => parseSettings({ otherStacksConcurrency: 99 })).toThrow('otherStacksConcurrency');
});

test('an account of 10, as new ones have, reserves nothing, has two workers, and is warned of', () => {
  const { reserved, sources, template, warnings } = concurrencyOf({
    webFunctions: 'all',
    accountConcurrency: 10,
  });
  expect(reserved).toEqual({});
  expect(sources).toEqual({ ProcessBatchItems: 2, PurgeChat: 2 });
  expect(warnings).toEqual([
    expect.stringContaining(
      'Nothing is reserved: Lambda keeps 100 executions unreserved, and accountConcurrency is 10. The 2 workers',
    ),
  ]);
  // A workspace's share is half of these two workers.
  template.hasResourceProperties('AWS::Lambda::Function', {
    Environment: { Variables: Match.objectLike({ BATCH_WORKSPACE_SLOTS: '1' }) },
  });
  expect(plan({ ...plain, accountConcurrency: 10 }).warning).toContain(
    'accountConcurrency is 10. A few concurrent replies, or the 2 workers',
  );
  expect(plan({ accountConcurrency: 100 })).toMatchObject({ reserved: new Map(), batchWorkers: 20 });
});
