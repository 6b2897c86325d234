import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { certificate } from '#support/certificate.ts';
import { clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { scriptedMcp } from '#support/scripted-mcp.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { createPublishedAgent, createTenant } from '#support/service.ts';
import { callRequestedTool } from '#support/tool-use.ts';
import { createChat, historyOf } from '#support/turns.ts';
import { useService } from '#support/use-service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const type = 'consultant_call_mcp_tool';
const secret = 'canary client secret';

/** The bodies of requests for tokens. The newest token is the one that the MCP server takes. */
const requested: string[] = [];
let valid = '';
const issuer = createServer(certificate, async (request, response) => {
  const body = await text(request);
  if (request.method === 'GET') {
    const json = { 'content-type': 'application/json' };
    const origin = `https://localhost:${port}`;
    const metadata = {
      '/.well-known/oauth-authorization-server': { issuer: origin, token_endpoint: `${origin}/token` },
      '/resource': { resource: mcp.url, authorization_servers: [origin], scopes_supported: ['crm'] },
    }[request.url ?? ''];
    response.writeHead(metadata === undefined ? 404 : 200, json).end(JSON.stringify(metadata));
    return;
  }
  requested.push(body);
  valid = `canary-token-${requested.length}`;
  const token = { access_token: valid, token_type: 'Bearer', expires_in: 3600 };
  response.end(JSON.stringify(token));
});
const { port } = closeAfterTests(await listenLocally(issuer));
const mcp = closeAfterTests(await scriptedMcp({ tls: true }));
mcp.override = ({ headers }, response) => {
  if (headers.authorization === `Bearer ${valid}`) return false;
  const challenge = `Bearer resource_metadata="https://localhost:${port}/resource"`;
  response.writeHead(401, { 'www-authenticate': challenge }).end();
  return true;
};
mcp.call = (_name, _args, { headers }) => ({
  content: [{ type: 'text', text: `Got ${headers.authorization}` }],
});

const model = closeAfterTests(await startScriptedModel());
callRequestedTool(model);
const assembly = await temporaryFolder('service-assembly-');
await synthesize(assembly, { openAiBaseUrl: model.url, toolAllow: ['localhost:*'] });
const logs: string[] = [];
const service = await useService({ assembly, onLog: ({ line }) => logs.push(line) });
const { workspaceId, ...tenant } = await createTenant({ titles: false });
const client = clientOf(service, tenant);
const hosts = [mcp.host, `localhost:${port}`];

const agentctl = agentctlOf(service);
await agentctl.setSecret(workspaceId, 'crm', secret, ...hosts);
await agentctl.setSecret(workspaceId, 'half', secret, mcp.host);

const auth = {
  ...{ type: 'oauth_client_credentials', client_id: 'agents', secret: 'crm', method: 'post' },
  ...{ token_url: `https://localhost:${port}/token`, issuer: `https://localhost:${port}`, resource: mcp.url },
};
const configOf = (changes: object = {}) => ({
  ...{ url: mcp.url, auth: { ...auth, ...changes } },
  tools: [
    {
      ...{ name: 'crm_echo', tool: 'echo', description: 'Echo.', approval: 'never' },
      input_schema: { type: 'object' },
    },
  ],
});

describe('an agent whose MCP server wants tokens', () => {
  it('gets one for many calls and another after a 401, and nobody sees one', async () => {
    const agentId = await createPublishedAgent(workspaceId, {
      llm_model: 'openai:test',
      unified_tools: [{ type, config: configOf() }],
    });
    const seen: unknown[] = [];
    const use = async () => {
      const chatId = await createChat(client, { agentId });
      const message = JSON.stringify({ name: 'crm_echo', arguments: {} });
      seen.push(await (await client.stream(chatId, { message, agent_id: agentId })).all());
      const history = await historyOf(client, chatId);
      seen.push(history);
      return history.at(-1)?.meta.reasoning_steps?.[0]?.result;
    };
    const result = { success: true, data: { result: 'Got Bearer [secret]' } };
    for (const _ of [1, 2, 3]) expect(await use()).toEqual(result);
    expect(requested.map((body) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
      {
        ...{ grant_type: 'client_credentials', resource: mcp.url },
        ...{ client_id: 'agents', client_secret: secret },
      },
    ]);
    valid = 'revoked';
    expect(await use()).toEqual(result);
    expect(requested).toHaveLength(2);
    seen.push(await client.get('/chats/published-agents?limit=1000'), logs);
    seen.push(model.calls.map(({ request }) => request));
    expect(JSON.stringify(seen)).toContain('crm_echo');
    expect(JSON.stringify(seen)).not.toMatch(/canary|localhost:\d+\/(mcp|token)/);
  });

  it('is made by an import, which asks the server where the tokens are', async () => {
    const file = join(service.dataDir, 'imported.json');
    await writeFile(file, JSON.stringify({ name: 'A' }));
    const words = ['tools', 'import', 'mcp', mcp.url, '--file', file, '--workspace', workspaceId];
    const importWith = (name: string) => agentctl.run(...words, '--secret', name, '--client-id', 'agents');
    expect((await importWith('half')).stderr).toContain(`which is not for the host localhost:${port}`);
    expect(await importWith('crm')).toMatchObject({ code: 0, stderr: '' });
    const imported = JSON.parse(await readFile(file, 'utf8'));
    expect(imported.unified_tools[0].config.auth).toEqual({ ...auth, method: 'basic', scope: 'crm' });
    const { id } = await agentctl.createAgent(workspaceId, imported);
    expect(await agentctl.run('agents', 'publish', id)).toMatchObject({ code: 0 });
    mcp.override = undefined;
    expect((await importWith('crm')).stderr).toContain('answers without credentials: leave --client-id out');
  });

  it.each([
    [{ secret: 'half' }, `auth.secret is half, which is not for the host localhost:${port}`],
    [{ token_url: 'http://auth.example/token' }, 'auth.token_url must be https'],
    [{ secret: 'none' }, 'auth.secret names no secret of the workspace: none'],
    [{ issuer: undefined }, 'auth.issuer'],
    [{ resource: 'mcp' }, 'auth.resource must be an http or https URL'],
    [{ client_secret: 'x' }, 'auth'],
  ])('is refused with %j', async (changes, problem) => {
    const unified_tools = [{ type, config: configOf(changes) }];
    const { code, stderr } = await agentctl.createAgent(workspaceId, { name: 'A', unified_tools });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`unified_tools[0].config.${problem}`)]);
  });
});
