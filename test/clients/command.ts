/**
 * `npm run test:clients [-- LANGUAGE ...]`: lints docs/openapi.json, generates clients from it, compiles them, and runs
 * programs with them against the service. Languages: typescript, python, go, java; library, which packs and drives the
 * client library; openai, which drives clients of OpenAI's chat completions; use-chat, which drives the page of
 * docs/examples/use-chat; mcp, which runs the conformance suite of MCP and uses real servers; http-apis, which calls operations of
 * OpenAPI documents on Prism; peers, which is the short part of these two that CI runs; json-schema, which compares the verdicts of Python's jsonschema. A language whose tools are missing is skipped by name.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { Connection } from '../../bin/local/connection.ts';
import { keys } from '../../functions/adapters/dynamo/table/keys.ts';
import { testHttpApis } from './http-apis/http-apis.ts';
import { compareVerdicts } from './json-schema/json-schema.ts';
import { languages, type Tools } from './languages.ts';
import { testMcp, testMcpServer } from './mcp/mcp-peers.ts';
import { testOpenAiClients } from './openai/openai-clients.ts';
import { testUseChat } from './use-chat/use-chat.ts';

const root = join(import.meta.dirname, '../..');
/** Outside of test: generated code and packages are not the project's. */
const work = join(root, 'node_modules/.cache/generated-clients');
/** Messages of a chat from 1,024 on have ids above 2^31. */
const largeChat = 1100;

const tools: Tools = {
  work,
  document: join(root, 'docs/openapi.json'),
  operations: Object.values<Record<string, { operationId: string }>>(
    JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8')).paths,
  ).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId)),
  run,
  has: (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0,
  esbuild: join(root, 'node_modules/.bin/esbuild'),
};

/** @throws Error with the command's output if it fails */
function run(
  command: string,
  args: readonly string[],
  options: { folder?: string; env?: NodeJS.ProcessEnv } = {},
) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: options.folder ?? work,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', ...options.env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const output = `${stdout}${stderr}`;
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed\n${error ?? ''}${output}`);
  return output;
}

/** Starts the service on a free port. */
async function startService(): Promise<{ service: ChildProcess; connection: Connection }> {
  const data = join(work, 'data');
  const service = spawn(process.execPath, ['bin/local.js', '--port', '0', '--data', data, '--reset'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: service.stdout })) {
    lines.push(line);
    if (line.includes('Ctrl-C')) break;
  }
  service.stdout.resume();
  if (!lines.some((line) => line.includes('Ctrl-C'))) throw new Error(`No service:\n${lines.join('\n')}`);
  return {
    service,
    connection: JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection,
  };
}

/** Creates the chat with a large id, as if the workspace had had all chats before it. */
async function createLargeChat(connection: Connection): Promise<NodeJS.ProcessEnv> {
  const {
    base_url: BASE_URL,
    api_key: API_KEY,
    agent_id: AGENT_ID,
    access_key_id,
    secret_access_key,
  } = connection;
  const client = new DynamoDBClient({
    region: 'us-east-1',
    endpoint: connection.dynamodb_endpoint,
    credentials: { accessKeyId: access_key_id ?? '', secretAccessKey: secret_access_key ?? '' },
  });
  await client.send(
    new UpdateItemCommand({
      TableName: connection.data_table,
      Key: marshall(keys.lastNumber(connection.workspace_id, 'CHATS')),
      UpdateExpression: 'SET last_id = :before',
      ExpressionAttributeValues: marshall({ ':before': largeChat - 1 }),
    }),
  );
  const response = await fetch(`${BASE_URL}/chats`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'A large id', agent_id: AGENT_ID }),
  });
  assert.equal(((await response.json()) as { data: { id: number } }).data.id, largeChat);
  return { BASE_URL, API_KEY, AGENT_ID, CHAT_ID: String(largeChat) };
}

/** Generates clients of these languages from docs/openapi.json, and runs them. */
async function testGeneratedClients(chosen: readonly string[]): Promise<void> {
  const starting = startService();
  try {
    // Of the generated clients CI runs `typescript` alone: without what only the others need, it takes half of the processor time.
    const isQuick = chosen.every((name) => name === 'typescript' || name === 'peers');
    const omitted = isQuick ? ['--omit=dev', '--omit=optional'] : [];
    run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts', ...omitted]);
    const bin = join(work, 'node_modules/.bin');
    run(join(bin, 'spectral'), ['lint', '-r', 'spectral.yaml', '--fail-severity=hint', tools.document]);
    if (!isQuick)
      run(join(bin, 'redocly'), ['lint', '--extends=recommended', '--max-problems=1', tools.document]);
    console.log(`docs/openapi.json has no warning of Spectral${isQuick ? '' : ' and Redocly'}`);
    const env = await createLargeChat((await starting).connection);
    for (const [name, test] of Object.entries(languages)) {
      if (!chosen.includes(name)) continue;
      report(name, test(tools, env));
    }
  } finally {
    const { service } = await starting;
    const ended = once(service, 'exit');
    service.kill('SIGINT');
    await ended;
  }
}

async function main(given: string[]): Promise<void> {
  const names = [...Object.keys(languages), 'openai', 'use-chat', 'mcp', 'http-apis', 'json-schema'];
  const unknown = given.filter((name) => name !== 'peers' && !names.includes(name));
  if (unknown.length > 0) throw new Error(`No such language: ${unknown.join(', ')}`);
  const chosen = given.length > 0 ? given : names;
  for (const folder of names) rmSync(join(work, folder), { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  cpSync(import.meta.dirname, work, { recursive: true });
  if (chosen.some((name) => name in languages)) await testGeneratedClients(chosen);
  if (chosen.includes('openai')) await testOpenAiClients(tools);
  if (chosen.includes('use-chat')) report('use-chat', await testUseChat(tools));
  if (chosen.includes('mcp')) report('mcp', await testMcp(tools));
  if (chosen.includes('http-apis')) report('http-apis', await testHttpApis(tools));
  if (chosen.includes('peers')) {
    await testMcpServer(tools);
    report('peers', await testHttpApis(tools, ['3.0/json/uspto.json']));
  }
  if (chosen.includes('json-schema')) report('json-schema', compareVerdicts(tools));
}

function report(name: string, missing: string | undefined): void {
  console.log(missing === undefined ? `${name}: passed` : `${name}: skipped, ${missing} is missing`);
}

await main(process.argv.slice(2));
