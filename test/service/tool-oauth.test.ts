import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { certificate } from '#support/certificate.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { scriptedMcp } from '#support/scripted-mcp.ts';
import { createTenant } from '#support/service.ts';
import { useService } from '#support/use-service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const type = 'consultant_call_mcp_tool';
const secret = 'canary client secret';
const token = 'canary-token';

const issuer = createServer(certificate, async (request, response) => {
  await Array.fromAsync(request);
  const origin = `https://localhost:${port}`;
  const document = {
    '/.well-known/oauth-authorization-server': { issuer: origin, token_endpoint: `${origin}/token` },
    '/resource': { resource: mcp.url, authorization_servers: [origin], scopes_supported: ['crm'] },
    '/token': { access_token: token, token_type: 'Bearer', expires_in: 3600 },
  }[request.url ?? ''];
  const json = { 'content-type': 'application/json' };
  response.writeHead(document === undefined ? 404 : 200, json).end(JSON.stringify(document));
});
const { port } = closeAfterTests(await listenLocally(issuer));
const mcp = closeAfterTests(await scriptedMcp({ tls: true }));
mcp.override = ({ headers }, response) => {
  if (headers.authorization === `Bearer ${token}`) return false;
  const challenge = `Bearer resource_metadata="https://localhost:${port}/resource"`;
  response.writeHead(401, { 'www-authenticate': challenge }).end();
  return true;
};
const assembly = await temporaryFolder('service-assembly-');
await synthesize(assembly, { toolAllow: ['localhost:*'] });
const service = await useService({ assembly });
const { workspaceId } = await createTenant();
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
  ])('is refused with %j', async (changes, problem) => {
    const unified_tools = [{ type, config: configOf(changes) }];
    const { code, stderr } = await agentctl.createAgent(workspaceId, { name: 'A', unified_tools });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`unified_tools[0].config.${problem}`)]);
  });
});
