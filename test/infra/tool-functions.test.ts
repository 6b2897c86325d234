import { describe, expect, test } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { deferredBytes, filesOfStart } from '#support/bundle-sizes.ts';
import { synthesize, theBundles } from './synthesize.ts';

const arnOf = (name: string) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`;
const toolFunctions = [arnOf('orders:live'), arnOf('refunds:7')];

/** Owners of roles, and what of other accounts' functions they may invoke. */
const invokedBy = (settings: Record<string, unknown>) =>
  Object.fromEntries(
    [...synthesize({ settings }).statements].flatMap(([owner, all]) => {
      const resources = all
        .filter(({ Action }) => [Action].flat().includes('lambda:InvokeFunction'))
        .flatMap(({ Resource }) => [Resource].flat())
        .filter((resource) => JSON.stringify(resource).includes('123456789012') || resource === '*');
      return resources.length === 0 ? [] : [[owner, resources]];
    }),
  );

test('functions that reply may invoke exactly the listed functions', () => {
  expect(invokedBy({ toolFunctions })).toEqual({
    ProcessBatchItems: toolFunctions,
    Chats: toolFunctions,
    TestAgent: toolFunctions,
  });
});

test('without the setting the template is the same', () => {
  const templateOf = (settings: Record<string, unknown>) => synthesize({ settings }).template.toJSON();
  const [before, after] = [templateOf({}), templateOf({ toolFunctions: [] })];
  expect(after).toEqual(before);
  expect(before.Outputs).not.toHaveProperty('ToolFunctions');
  expect(invokedBy({})).toEqual({});
});

test('an output tells operators what agents may name', () => {
  const { Outputs } = synthesize({ settings: { toolFunctions } }).template.toJSON();
  expect(Outputs.ToolFunctions).toEqual({ Value: JSON.stringify(toolFunctions) });
});

const withTools = ['complete-chat', 'process-batch-items', 'send-message', 'serve-chats', 'test-agent'];

test.each(
  withTools.flatMap((name) => ['function-tools', 'remote-tools'].map((module) => [name, module] as const)),
)(
  '%s loads at most 45 KB of %s for an agent with such tools, and nothing of it for others',
  async (name, module) => {
    const bytes = deferredBytes((await theBundles()).metafile(), name, module);
    expect(bytes).toBeGreaterThan(5000);
    expect(bytes).toBeLessThanOrEqual(45 * 1024);
  },
);

test.each(withTools)(
  '%s loads at most 230 KB at the first call of MCP, and nothing at its start',
  async (name) => {
    const metafile = (await theBundles()).metafile();
    const inputs = Object.entries(metafile.outputs[`bundles/${name}/mcp-client.mjs`]?.inputs ?? {});
    // With a copy of zod, which the start has too, it is 310 KB.
    const client = inputs
      .filter(([source]) => !source.includes('node_modules/zod/'))
      .reduce((bytes, [, { bytesInOutput }]) => bytes + bytesInOutput, 0);
    expect(client).toBeGreaterThan(100_000);
    expect(client).toBeLessThanOrEqual(230 * 1024);
    const sources = [...filesOfStart(metafile, name)].flatMap((file) =>
      Object.entries(metafile.outputs[file]?.inputs ?? {}).filter(
        ([, { bytesInOutput }]) => bytesInOutput > 0,
      ),
    );
    const remote = /agents\/tools\/kinds|adapters\/(?:mcp|outbound\/remote-http)|modelcontextprotocol/;
    expect(sources.map(([source]) => source).filter((source) => remote.test(source))).toEqual([]);
  },
);

describe('the setting', () => {
  const problem = 'must be the ARN of a Lambda function with an alias, without wildcards';
  test.each([
    '*',
    'orders',
    arnOf('orders'),
    arnOf('orders:*'),
    arnOf('*:live'),
    arnOf('orders:$LATEST'),
    arnOf('orders:live:more'),
    `${arnOf('orders:live')}\n`,
    arnOf('orders:live').replace(':lambda:', ':sqs:'),
  ])('refuses %s', (arn) => {
    expect(() => parseSettings({ toolFunctions: [arn] })).toThrow(`toolFunctions.0: ${problem}`);
  });

  test('has 20 functions at most', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => arnOf(`orders${at}:live`));
    expect(parseSettings({ toolFunctions: many(20) }).toolFunctions).toHaveLength(20);
    expect(() => parseSettings({ toolFunctions: many(21) })).toThrow('toolFunctions');
  });
});
