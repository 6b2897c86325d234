import { expect, test } from 'vitest';
import { deferredBytes, filesOfStart } from '#support/bundle-sizes.ts';
import { synthesize, theBundles } from './synthesize.ts';

const arnOf = (name: string) => `arn:aws:lambda:eu-central-1:123456789012:function:${name}`;
const toolFunctions = [arnOf('orders:live'), arnOf('refunds:7')];

test('without the setting the template is the same', () => {
  const templateOf = (settings: Record<string, unknown>) => synthesize({ settings }).template.toJSON();
  const [before, after] = [templateOf({}), templateOf({ toolFunctions: [] })];
  expect(after).toEqual(before);
  expect(before.Outputs).not.toHaveProperty('ToolFunctions');
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
    const remote =
      /agents\/tools\/kinds|adapters\/(?:mcp|outbound\/(?:remote-http|client-tokens))|modelcontextprotocol/;
    expect(sources.map(([source]) => source).filter((source) => remote.test(source))).toEqual([]);
  },
);
