import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { resultsOf, runBatch } from '#support/batches.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { openAiRequests } from '#support/openai-requests.ts';
import { scriptedMcp } from '#support/scripted-mcp.ts';
import { callRequestedTool, useTool } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';

const secret = 'canary+secret/1=%~?';
const token = 'canary+token/2=%~?';
const [path, header] = ['/canary-path', 'canary-header'];

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Forms in which a server may repeat a text. */
const formsOf = (text: string): string[] => [text, base64(text), encodeURIComponent(text)];
const pair = base64(`canary:${secret}`);
const secrets = [...[secret, token].flatMap(formsOf), pair];

/** What the servers do. `echo` repeats the secrets that a request has; `fail` does so with a failure. */
const modes = ['plain', 'redirect', 'silent', 'fail', 'echo'] as const;
let mode: (typeof modes)[number] = 'plain';
const authorizations: string[] = [];
let tokens = 0;

/** All that a request says of secrets, and what a server may make of them. */
function echoOf(headers: IncomingHttpHeaders, url = ''): string {
  const { authorization, 'x-canary-key': key } = headers;
  const value = new URL(url, 'http://x').searchParams.get('canary_key');
  authorizations.push(...[authorization, key, value].flatMap((each) => each ?? []).map(String));
  // A server that gets a token may know the secret of its client too.
  const known = authorization === `Bearer ${token}` ? [token, secret] : [secret];
  const repeated = known.flatMap((text) => [...formsOf(text), `Bearer ${text}`]);
  return JSON.stringify([authorization, key, url.split('?')[1], ...repeated]);
}

const mcp = closeAfterTests(await scriptedMcp());
mcp.call = (_name, _args, { headers }) => {
  const echo = echoOf(headers);
  if (mode === 'plain') return { content: [{ type: 'text', text: 'Found' }] };
  return {
    content: [{ type: 'text', text: echo }],
    structuredContent: { [echo]: JSON.parse(echo) },
    ...(mode === 'fail' && { isError: true }),
  };
};
mcp.override = (_request, response) => {
  if (mode === 'redirect') response.writeHead(307, { location: `http://127.0.0.1${path}` }).end();
  return mode === 'redirect' || mode === 'silent';
};

const api = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      await Array.fromAsync(request);
      if (request.url === '/token') {
        tokens += 1;
        return response.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
      }
      const echo = echoOf(request.headers, request.url);
      const statuses = { plain: 200, echo: 200, fail: 500, redirect: 302 };
      if (mode === 'silent') return undefined;
      const json = mode !== 'fail' && { 'Content-Type': 'application/json' };
      return response
        .writeHead(statuses[mode], { Location: path, ...json })
        .end(mode === 'plain' ? '"Found"' : echo);
    }),
  ),
);

const logs: string[] = [];
const { model, service, tenant, client } = await useScriptedService(
  { variables: { TOOL_ALLOW: '127.0.0.1:*' }, onLog: ({ line }) => logs.push(line) },
  { openai: true },
);
callRequestedTool(model);
const { workspaceId } = tenant;
const agentctl = agentctlOf(service);
const folder = await temporaryFolder('tool-canary-');
const hosts = [mcp.host, `127.0.0.1:${api.port}`];
const places = [...hosts, path, header];

const tool = (name: string, fields: object) => ({
  ...{ name, description: 'A tool.', approval: 'never', input_schema: { type: 'object' } },
  ...fields,
});
const shared = { headers: { 'X-Canary': header }, timeout_seconds: 1 };
const ofMcp = (name: string, auth: object) => ({
  type: 'consultant_call_mcp_tool',
  config: {
    ...shared,
    url: `http://${mcp.host}${path}`,
    auth: { secret: 'crm', ...auth },
    tools: [tool(name, { tool: 'echo' })],
  },
});
const ofApi = (name: string, auth: object) => ({
  type: 'consultant_call_http_api',
  config: {
    ...shared,
    base_url: api.url,
    auth: { secret: 'crm', ...auth },
    tools: [tool(name, { method: 'GET', path })],
  },
});
const entries = {
  mcp_bearer: ofMcp('mcp_bearer', { type: 'bearer' }),
  mcp_header: ofMcp('mcp_header', { type: 'header', name: 'X-Canary-Key' }),
  mcp_basic: ofMcp('mcp_basic', { type: 'basic', username: 'canary' }),
  mcp_token: ofMcp('mcp_token', {
    ...{ type: 'oauth_client_credentials', client_id: 'agents', method: 'post' },
    ...{ token_url: `${api.url}/token`, issuer: api.url, resource: `http://${mcp.host}${path}` },
  }),
  api_bearer: ofApi('api_bearer', { type: 'bearer' }),
  api_header: ofApi('api_header', { type: 'header', name: 'X-Canary-Key', prefix: 'Key ' }),
  api_basic: ofApi('api_basic', { type: 'basic', username: 'canary' }),
  api_query: ofApi('api_query', { type: 'query', name: 'canary_key' }),
};
/** What each server has to get. */
const sent: Record<keyof typeof entries, string> = {
  ...{ mcp_bearer: `Bearer ${secret}`, mcp_header: secret, mcp_token: `Bearer ${token}` },
  ...{ mcp_basic: `Basic ${pair}`, api_basic: `Basic ${pair}` },
  ...{ api_bearer: `Bearer ${secret}`, api_header: `Key ${secret}`, api_query: secret },
};

const ofWorkspace = ['--workspace', workspaceId];
const shownBySet = await agentctl.setSecret(workspaceId, 'crm', secret, ...hosts);
const { id: agentId } = await agentctl.createAgent(workspaceId, {
  ...{ name: 'Canary', llm_model: 'openai:test', meta: { generate_titles: false } },
  unified_tools: Object.values(entries),
});
await agentctl.json('agents', 'publish', agentId);

/** JSON in JSON hides no text: the forms have no quote and no backslash. */
function expectNone(what: string, shown: string, hidden: readonly string[]): void {
  for (const form of hidden) if (shown.includes(form)) expect.unreachable(`${what} has ${form}: ${shown}`);
}

async function textsOf(name: string): Promise<string> {
  const { all } = await useTool(client, agentId, name);
  const completion = await openAiRequests(service, tenant).request('POST', '/chat/completions', {
    body: { model: agentId, messages: [{ role: 'user', content: JSON.stringify({ name, arguments: {} }) }] },
  });
  expect(completion.status).toBe(200);
  return all + (await completion.text());
}

it.each(Object.keys(entries) as (keyof typeof entries)[])(
  'nobody sees the secret, the address and the headers of %s, whatever its server does',
  async (name) => {
    for (mode of name === 'mcp_bearer' || name === 'api_query' ? modes : modes.slice(-2)) {
      authorizations.length = 0;
      const before = logs.length;
      const shown = await textsOf(name);
      const prompts = JSON.stringify(model.calls.splice(0).map(({ request }) => request));
      if (mode === 'echo') expect(new Set(authorizations)).toEqual(new Set([sent[name]]));
      if (mode === 'echo' || mode === 'fail') expect(shown).toContain('[secret]');
      // An address is in a log of operators alone, as host.
      for (const text of [shown, prompts]) expectNone(`${name}, ${mode}`, text, [...secrets, ...places]);
      expectNone(`The log, ${name}, ${mode}`, logs.slice(before).join('\n'), [...secrets, path, header]);
    }
  },
);

it('the calls of an entry share a token', () => {
  expect(tokens).toBe(1);
});

it('no list, batch, export or command shows a secret, and only those of agents and secrets for operators an address', async () => {
  mode = 'echo';
  const before = logs.length;
  const message = JSON.stringify({ name: 'mcp_bearer', arguments: {} });
  const { id } = await runBatch(client, { agentId }, [{ custom_id: 'a', message }]);
  const exported = join(folder, 'chats.jsonl');
  const run = async (...args: string[]) => {
    const { stdout, stderr } = await agentctl.run(...args);
    return `${stdout}${stderr}`;
  };
  const shown = {
    batch: JSON.stringify([await resultsOf(client, id), await client.get(`/batches/${id}`)]),
    chats: JSON.stringify(await client.get('/chats?external_user_id=anyone')),
    published: JSON.stringify(await client.get('/chats/published-agents?limit=1000')),
    models: await (await openAiRequests(service, tenant).request('GET', '/models')).text(),
    export:
      (await run('chats', 'export', ...ofWorkspace, '--out', exported)) + (await readFile(exported, 'utf8')),
    test: await run('agents', 'test', agentId, message),
    call: await run('tools', 'call', agentId, 'mcp_basic', '{}', ...ofWorkspace),
    callApi: await run('tools', 'call', agentId, 'api_query', '{}', ...ofWorkspace),
    // A missing option.
    mistake: await run('secrets', 'set', 'crm', ...ofWorkspace),
  };
  expect(shown.export).toContain('[secret]');
  for (const [what, text] of Object.entries(shown)) expectNone(what, text, [...secrets, ...places]);

  mcp.tools = [{ name: 'echo', description: `Send ${secret} or Basic ${base64(secret)}.` }];
  const copy = join(folder, 'copy.json');
  await writeFile(copy, JSON.stringify({ name: 'A', unified_tools: [entries.mcp_bearer] }));
  const importing = ['tools', 'import', 'mcp', `http://${mcp.host}${path}`, '--file', copy, ...ofWorkspace];
  const ofOperators = {
    set: shownBySet,
    import: await run(...importing, '--allow', '127.0.0.1:*'),
    file: await readFile(copy, 'utf8'),
    check: await run('tools', 'check', agentId, ...ofWorkspace),
    get: await run('agents', 'get', agentId),
    list: await run('agents', 'list', ...ofWorkspace),
    versions: await run('agents', 'versions', agentId),
    secrets: await run('secrets', 'list', ...ofWorkspace),
    audit: await run('audit', ...ofWorkspace),
    remove: await run('secrets', 'remove', 'crm', ...ofWorkspace),
  };
  expect(ofOperators.import).toContain('"state":"changed"');
  expect(ofOperators.file).toContain('[secret]');
  for (const [what, text] of Object.entries(ofOperators)) expectNone(what, text, formsOf(secret));
  expectNone('The log', logs.slice(before).join('\n'), [...secrets, path, header]);
  expect(logs.join('\n')).toMatch(/ToolTime/);
});
