import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Tools } from '../languages.ts';
import { type Entry, startEverything, startFastMcp, type UseTools, withAgent } from './agent-peers.ts';

const root = join(import.meta.dirname, '../../..');
const driver = join(import.meta.dirname, 'conformance-client.ts');

/**
 * Runs the protocol's conformance suite for clients, of both eras, and uses all tools of server-everything and of a server in
 * Python through agents of the service. Returns the missing tool if it cannot.
 */
export async function testMcp(tools: Tools): Promise<string | undefined> {
  const folder = join(tools.work, 'mcp');
  tools.run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { folder });
  const conformance = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  for (const revision of ['2025-11-25', '2026-07-28'])
    tools.run(
      process.execPath,
      [
        ...[conformance, 'client', '--command', `${process.execPath} ${driver}`],
        ...['--requirements', revision, '--timeout', '20000'],
        ...['--expected-failures', join(folder, 'exceptions.yaml')],
      ],
      { folder },
    );
  await useEverything(folder);
  return useFastMcp(tools, folder);
}

/** The same as CI does: without the conformance suite and Python. */
export async function testMcpServer({ run, work }: Tools): Promise<void> {
  const folder = join(work, 'mcp');
  run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--omit=dev'], {
    folder,
  });
  await useEverything(folder);
}

const success = (result: unknown, more: object = {}) => ({ success: true, data: { result, ...more } });
const image = { type: 'image', mime_type: 'image/png', bytes: 4033 };

/** All tools of server-everything: arguments, and what the step has then, or what its JSON looks like. */
const uses: Readonly<Record<string, { args?: object; result: object | RegExp }>> = {
  echo: { args: { message: 'Hello' }, result: success('Echo: Hello') },
  'get-annotated-message': {
    args: { messageType: 'error', includeImage: true },
    result: success('Error: Operation failed', { attachments: [image] }),
  },
  'get-env': { result: /^{"success":true,"data":{"result":"{\\n.*\\"PORT\\": / },
  'get-resource-links': {
    args: { count: 2 },
    result: success('Here are 2 resource links to resources available in this server:', {
      attachments: [
        {
          ...{ type: 'resource_link', uri: 'demo://resource/dynamic/blob/1' },
          ...{ name: 'Blob Resource 1', mime_type: 'text/plain' },
        },
        {
          ...{ type: 'resource_link', uri: 'demo://resource/dynamic/text/2' },
          ...{ name: 'Text Resource 2', mime_type: 'text/plain' },
        },
      ],
    }),
  },
  // The text of an embedded resource is a part of the result.
  'get-resource-reference': {
    args: { resourceType: 'Text', resourceId: 1 },
    result: /Returning resource reference for Resource 1:\\nResource 1: This is a plaintext resource created/,
  },
  'get-structured-content': {
    args: { location: 'Chicago' },
    result: success({ temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 }),
  },
  'get-sum': { args: { a: 2, b: 3 }, result: success('The sum of 2 and 3 is 5.') },
  'get-tiny-image': {
    result: success("Here's the image you requested:\nThe image above is the MCP logo.", {
      attachments: [image],
    }),
  },
  'gzip-file-as-resource': {
    args: { name: 'a.gz', data: 'data:text/plain;base64,SGVsbG8=', outputType: 'resource' },
    result: success('', { attachments: [{ type: 'resource', mime_type: 'application/gzip', bytes: 25 }] }),
  },
  // It is for clients with tasks, an extension of the protocol.
  'simulate-research-query': { args: { topic: 'Leases' }, result: /^{"success":false,/ },
  'toggle-simulated-logging': { result: /^{"success":true,"data":{"result":"Started simulated/ },
  'toggle-subscriber-updates': { result: /^{"success":true,"data":{"result":"Started simulated/ },
  // It sends messages about its progress before the result.
  'trigger-long-running-operation': {
    args: { duration: 1, steps: 2 },
    result: success('Long running operation completed. Duration: 1 seconds, Steps: 2.'),
  },
};

async function useEverything(folder: string): Promise<void> {
  const server = await startEverything(folder);
  try {
    await withAgent(folder, { all: server.url }, [], async (use, [entry]) => {
      const names = Object.keys(uses).map((name) => `all_${name}`);
      const tools = entry?.config.tools ?? [];
      assert.deepEqual(tools.map(({ name }) => name).toSorted(), names.toSorted());
      const example = JSON.parse(readFileSync(join(root, 'docs/examples/mcp/agent.json'), 'utf8'));
      for (const { name, ...tool } of example.unified_tools[0].config.tools)
        assert.deepEqual(
          { ...tool, name: `all_${tool.tool}` },
          tools.find((one) => one.tool === tool.tool),
          name,
        );
      for (const [name, { args = {}, result: expected }] of Object.entries(uses)) {
        const result = (await use({ name: `all_${name}`, arguments: args })).get(`all_${name}`);
        if (expected instanceof RegExp) assert.match(JSON.stringify(result), expected, name);
        else assert.deepEqual(result, expected, name);
      }
      console.log(`mcp: an agent used ${names.length} tools of server-everything`);
    });
  } finally {
    server.child.kill('SIGTERM');
    await server.ended;
  }
}

async function useFastMcp({ run, has }: Tools, folder: string): Promise<string | undefined> {
  if (!has('python3', '-c', 'import sys, venv; assert sys.version_info >= (3, 10)')) return 'Python 3.10';
  run('python3', ['-m', 'venv', 'venv'], { folder });
  run('venv/bin/pip', ['install', '-q', '--disable-pip-version-check', '-r', 'requirements.txt'], { folder });
  const server = await startFastMcp(folder);
  try {
    await withAgent(folder, server.urls, ['2026-07-28', '2025-11-25'], async (use, entries) => {
      for (const entry of entries) await useOneServer(use, entry, server);
      console.log(`mcp: an agent used ${entries.length} entries of FastMCP`);
    });
  } finally {
    server.child.kill('SIGTERM');
    await server.ended;
  }
  return undefined;
}

/** Uses each tool in one reply: every use is one request, and in the earlier era they share a session. */
async function useOneServer(
  use: UseTools,
  { config }: Entry,
  server: Awaited<ReturnType<typeof startFastMcp>>,
): Promise<void> {
  const named = (name: string) => config.tools.find(({ tool }) => tool === name)?.name ?? name;
  const before = server.requests().length;
  const results = await use(
    { name: named('add'), arguments: { a: 1, b: 2 } },
    { name: named('find'), arguments: { email: 'a@b.c' } },
    { name: named('fail') },
    { name: named('picture') },
  );
  const attachments = [{ type: 'image', mime_type: 'image/png', bytes: 3 }];
  assert.deepEqual(Object.fromEntries(results), {
    [named('add')]: success({ result: 3 }, { text: '3' }),
    [named('find')]: success({ email: 'a@b.c', orders: [7] }),
    [named('fail')]: { success: false, data: { message: "Error calling tool 'fail': No such customer" } },
    [named('picture')]: success('', { attachments }),
  });
  const mode = Object.keys(server.urls).find((name) => server.urls[name] === config.url);
  const calls = Array(results.size).fill(`${mode} POST tools/call`);
  const isModern = config.protocol === '2026-07-28';
  const start = isModern ? [] : [`${mode} POST initialize`, `${mode} POST notifications/initialized`];
  // A server without sessions has none to end.
  const end = isModern || mode === 'stateless' ? [] : [`${mode} DELETE`];
  assert.deepEqual(server.requests().slice(before), [...start, ...calls, ...end]);
}
