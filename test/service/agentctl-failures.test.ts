import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import { createApiKey } from '#domain/workspaces/api-keys.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { runAgentctlCommand } from '#support/agentctl-process.ts';
import { submit } from '#support/batches.ts';
import { clientOf } from '#support/client.ts';
import { clientCommand } from '#support/client-command.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startProgram } from '#support/command.ts';
import { type FrontRequest, startFront } from '#support/front-server.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { openTenant } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';
import manifest from '../../package.json' with { type: 'json' };

const service = await useService();
const tenant = await openTenant(service);
const folder = await temporaryFolder('agentctl-failures-');
const client = clientCommand(service, tenant);

/** An address where nothing listens. */
const { url: closed, close } = await listenLocally(createServer());
await close();

describe('agentctl without a service', () => {
  it('says how to start one, also if another process has the id of the run that has ended', async () => {
    const stale = { pid: process.pid, base_url: `${closed}/api/v1`, dynamodb_endpoint: closed };
    const data = join(folder, 'stale');
    await mkdir(data);
    await writeFile(join(data, 'connection.json'), JSON.stringify(stale));
    const noService = { AGENT_SERVICE_URL: '', AGENT_SERVICE_KEY: '' };
    for (const args of [
      ['chat', 'Hello'],
      ['workspaces', 'get', 'ws'],
    ]) {
      const end = await runAgentctlCommand('no service', [...args, '--data', data], noService);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr).toMatch(/^No service runs in .*: start one with npm start, or .*\n$/);
    }
  });
});

describe('agentctl', () => {
  it('names the file, and the line in it, that it cannot read', async () => {
    const agents = (file: string) =>
      agentctlOf(service).run('agents', 'create', '--workspace', tenant.workspaceId, '--file', file);
    const batches = (file: string) => client.run('batch', 'submit', file, '--agent', tenant.agentId);
    const cases: [run: typeof agents, name: string, content: string | undefined, line: RegExp][] = [
      [agents, 'none.json', undefined, /none\.json cannot be read: no such file or directory$/],
      [agents, 'token.json', '{\n"name": "é",\n"a": x\n}', /token\.json .*: line 3: Unexpected token/],
      [agents, 'comma.json', '{\n"name": "x",\n}', /comma\.json .*: line 3: /],
      [agents, 'end.json', '{\n"name":\n', /end\.json .*: line 2: Unexpected end/],
      [batches, 'none.jsonl', undefined, /none\.jsonl cannot be read: no such file or directory$/],
    ];
    for (const [run, name, content, line] of cases) {
      const file = join(folder, name);
      if (content !== undefined) await writeFile(file, content);
      const end = await run(file);
      expect(end).toMatchObject({ code: 1, stdout: '' });
      expect(end.stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
      expect(end.stderr).not.toMatch(/\bE[A-Z]{4,}/);
    }
  });

  it('ends with 2 after a wrong command line, names the nearest command or option, and prints its version', async () => {
    const cases: [args: string[], line: RegExp][] = [
      [['batc', 'list'], /unknown command 'batc' \(Did you mean batch\?\)\. Try agentctl --help$/],
      [['batch', 'list', '--limt', '1'], /unknown option '--limt' \(Did you mean --limit\?\)/],
      [['batch', 'list', '--limit', '0'], /--limit .*from 1 to.* Try agentctl batch list --help$/],
      [['batch', 'list', '--base-url', 'ftp://x'], /is not an http or https address/],
      [['batch', 'list', '--base-url', 'https://x '], /is not an http or https address/],
    ];
    for (const [args, line] of cases) {
      const { code, stdout, stderr } = await client.run(...args);
      expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(line)]);
      expect([code, stdout]).toEqual([2, '']);
    }
    expect(await client.run('--version')).toMatchObject({ code: 0, stdout: `${manifest.version}\n` });
  });

  it('shows the trace of a bug, and where to report it; ends quietly when nothing reads its output', async () => {
    const faulty = ['--import', 'data:text/javascript,URL.canParse=()=>null.x', 'bin/agentctl.js'];
    const bug = startProgram([process.execPath, ...faulty, 'batch', 'list'], client.variables);
    const unread = client.start(['batch', 'list']);
    unread.child.stdout?.destroy();
    const [broken, quiet] = await Promise.all([bug.ended, unread.ended]);
    expect(broken).toMatchObject({ code: 1, stdout: '' });
    expect(broken.stderr).toMatch(
      /^TypeError: .*\n( +at .*\n)+This is a bug of version .*CONTRIBUTING\.md.*\n$/,
    );
    expect(quiet).toMatchObject({ code: 0, stderr: '' });
  });

  it('lists batches, newest first, and says what an empty list is', async () => {
    const list = async (...args: string[]) =>
      (await client.run('batch', 'list', ...args)).stdout.trimEnd().split('\n');
    expect(await list()).toEqual(['No batches']);
    const ids: string[] = [];
    for (const message of ['one', 'two']) {
      ids.unshift((await submit(tenant.client, tenant, [{ custom_id: 'a', message }])).id);
    }
    const [titles, ...lines] = await list();
    expect(titles).toMatch(/^batch +status +completed +failed +requests +created$/);
    expect(lines.map((line) => line.split(' ')[0])).toEqual(ids);
    const [, newest, more, ...others] = await list('--limit', '1');
    expect([newest?.split(' ')[0], more, others]).toEqual([ids[0], '1 more: give --limit', []]);
    expect(await list('--status', 'cancelled')).toEqual(['No batches']);
    expect(await client.json('batch', 'list')).toMatchObject({
      batches: ids.map((id) => ({ id })),
      total: 2,
    });
    const { run } = agentctlOf(service);
    expect((await run('agents', 'list', '--workspace', tenant.workspaceId)).code).toBe(0);
  });
});

const front = closeAfterTests(await startFront(service.baseUrl));

interface Passed {
  base_url: string;
  workspace_id: string;
  steps: { step: string; milliseconds: number }[];
}

const steps = [
  'an unknown key is rejected',
  'agents are listed',
  'a chat is created',
  'a reply is streamed',
  'a reply is sent as JSON',
  'the history has both turns',
  'a file is uploaded',
  'a batch ends with its result',
  'the chat is deleted',
];

const keysOf = (workspaceId: string): Promise<ApiKey[]> => operator().apiKeys.list(workspaceId);

async function smokeWorkspaces(): Promise<string[]> {
  const all = await operator().workspaces.list();
  return all.filter(({ name }) => name === 'agentctl smoke').map(({ id }) => id);
}

/** The chats that the runs have left. */
async function chatsOf(workspaceId: string): Promise<unknown> {
  const { apiKey } = await createApiKey(operator(), { workspaceId, name: 'test', expiresAt: null });
  return (await clientOf(service, { apiKey }).get('/chats?external_user_id=agentctl-smoke')).body.data;
}

it('uses the service as a client, a line for each step, and leaves no key and no chat behind', async () => {
  const { run } = agentctlOf(service);
  const runs = [await run('smoke'), await run('smoke')];
  const results = runs.map(({ code, stdout, stderr }) => {
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trim().split('\n');
    const passed = JSON.parse(lines.pop() ?? '') as Passed;
    expect(lines).toEqual(passed.steps.map(({ step, milliseconds }) => `${step}: ${milliseconds} ms`));
    return passed;
  });
  for (const { base_url, steps: passed } of results) {
    expect(base_url).toBe(service.baseUrl);
    expect(passed.map(({ step }) => step)).toEqual(steps);
  }
  const [workspaceId = '', ...others] = await smokeWorkspaces();
  expect(others).toEqual([]);
  expect(results.map(({ workspace_id: id }) => id)).toEqual([workspaceId, workspaceId]);
  const keys = await keysOf(workspaceId);
  expect(keys.length).toBeGreaterThanOrEqual(2);
  for (const { revokedAt, expiresAt } of keys) {
    expect(revokedAt).not.toBeNull();
    expect(expiresAt).not.toBeNull();
  }
  expect(await chatsOf(workspaceId)).toEqual([]);
});

const ids = { 'x-request-id': 'broken' };
const isSend = ({ method, path }: FrontRequest) => method === 'POST' && path.endsWith('/messages');

/** Passes the stream on, without its last line. */
async function withoutDone(request: FrontRequest): Promise<void> {
  const upstream = await request.forward();
  const text = await upstream.text();
  request.response.writeHead(200, { 'Content-Type': 'text/event-stream', ...ids });
  request.response.end(text.replace('data: [DONE]\n\n', ''));
}

const noAgents = { data: [], message: null, error_code: 0 };
const isList = ({ path }: FrontRequest) => path.endsWith('published-agents');

/** A deployment that breaks one thing: the failed step, what is wrong, and how it responds to which requests. */
const broken: [string, string, is: (request: FrontRequest) => boolean, (request: FrontRequest) => unknown][] =
  [
    [
      'accepts every key',
      'an unknown key is rejected: the key is accepted',
      isList,
      (request) => request.respond(200, noAgents, ids),
    ],
    [
      'lists no agents',
      'agents are listed: the agent is missing',
      isList,
      async (request) => {
        const { status } = await request.forward();
        return status === 200 ? request.respond(200, noAgents, ids) : request.pass();
      },
    ],
    [
      'breaks the function that responds to messages',
      'a reply is streamed: The service responded with HTTP 502',
      isSend,
      ({ response }) => response.writeHead(502, ids).end('Bad gateway'),
    ],
    ['breaks streams off', 'a reply is streamed: the stream has no [DONE]', isSend, withoutDone],
  ];

describe('a deployment that', () => {
  it.each(broken)(
    '%s fails the step, and the error names the request',
    async (_what, problem, is, respond) => {
      front.serve = async (request) => void (is(request) ? await respond(request) : await request.pass());
      const { code, stdout, stderr } = await agentctlOf(service, [], front.baseUrl).run('smoke');
      const failed = steps.findIndex((step) => problem.startsWith(step));
      const passed = stdout.split('\n').filter(Boolean);
      expect(passed.map((line) => line.split(':')[0])).toEqual(steps.slice(0, failed));
      expect(stderr).toMatch(/^Failed after \d+ ms: /);
      expect(stderr).toContain(problem);
      expect(stderr.trim()).toMatch(/\(request id broken\)$/);
      expect(code).toBe(1);
      const [workspaceId = ''] = await smokeWorkspaces();
      for (const { name, revokedAt } of await keysOf(workspaceId))
        if (name === 'smoke') expect(revokedAt).not.toBeNull();
      expect(await chatsOf(workspaceId)).toEqual([]);
    },
  );
});
