import { describe, expect, it } from 'vitest';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { type FrontRequest, startFront } from '#support/front-server.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const service = await useService();
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
  const { createApiKey } = await import('#domain/workspaces/api-keys.ts');
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
