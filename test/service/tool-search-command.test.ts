import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { certificate } from '#support/certificate.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startCommand, startOn } from '#support/command.ts';
import { listenLocally } from '#support/listen-locally.ts';
import { listenersOf } from '#support/listeners.ts';
import { openTenant } from '#support/open-tenant.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import type { Service } from '#support/service.ts';
import { callRequestedTool, startWebServer, toolUser } from '#support/tool-use.ts';
import { useLocalTable } from '../../bin/operator.ts';

const functionArn = 'arn:aws:lambda:eu-central-1:123456789012:function:orders:live';
const unreached = /^The (address is not allowed|server cannot be reached)$/;

const folder = await temporaryFolder('service-command-');
const data = join(folder, 'data');
const web = closeAfterTests(
  await startWebServer((request, response) =>
    response.end(request.url?.startsWith('/search?') ? '{"results":[]}' : 'a page'),
  ),
);
const other = closeAfterTests(await startWebServer((_request, response) => response.end('another')));
const secure = closeAfterTests(
  await listenLocally(createServer(certificate, (_request, response) => response.end('a secret page'))),
);
await writeFile(join(folder, 'authority.pem'), certificate.cert);
const model = closeAfterTests(await startScriptedModel());
callRequestedTool(model);
const code = `export const handler = async ({ tool }) => ({ tool, variables: Object.keys(process.env).sort() });`;
await writeFile(join(folder, 'orders.mjs'), code);
const { command, connection } = await startOn(
  data,
  [
    ...['--allow-outbound', `127.0.0.1:${web.port}`, '--allow-outbound', 'localhost:*'],
    ...['--tool-function', `${functionArn}=${join(folder, 'orders.mjs')}`, '--logs'],
  ],
  {
    ...{ SEARXNG_URL: web.url, OPENAI_BASE_URL: model.url },
    NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
  },
);
closeAfterTests({ close: command.kill });
useLocalTable(connection.data_table, connection.dynamodb_endpoint);
const service = { baseUrl: connection.base_url } as Service;

/** What a new agent replies to a message. */
async function replyOf(message: string, options: Parameters<typeof openTenant>[1]) {
  const tenant = await openTenant(service, { titles: false, ...options });
  return tenant.send(await tenant.createChat(), { message });
}

describe('npm start', () => {
  it('lets agents search where SEARXNG_URL says', async () => {
    const search = await toolUser(service, { type: 'consultant_search_web' });
    expect((await search({ query: 'q' })).result).toEqual({ success: true, data: [] });
    expect(web.received).toContain('/search?q=q&format=json');
  });

  it('lets agents read what --allow-outbound names, and nothing beside', async () => {
    const read = await toolUser(service, { type: 'consultant_fetch_web_content' });
    expect((await read({ url: `${web.url}/page` })).result).toMatchObject({ data: { content: 'a page' } });
    expect((await read({ url: other.url })).result).toEqual({
      success: false,
      data: { message: 'The address is not allowed' },
    });
    expect(other.received).toEqual([]);
  });

  it('lets no agent reach what it listens at itself, though every port is allowed', async () => {
    const read = await toolUser(service, { type: 'consultant_fetch_web_content' });
    const listeners = await listenersOf(command.child.pid ?? 0);
    expect(listeners.map(({ port }) => port)).toContain(Number(new URL(service.baseUrl).port));
    // The emulators of AWS services with their wires, the gateway, the distribution in front of it, and a web function.
    expect(listeners.length).toBeGreaterThanOrEqual(10);
    for (const { host, port } of listeners) {
      const name = host === '127.0.0.1' ? 'localhost' : host;
      const { result } = await read({ url: `http://${name}:${port}/` });
      const { message } = result.data as { message: string };
      expect([port, result.success, message]).toEqual([port, false, expect.stringMatching(unreached)]);
    }
  });

  it('runs the module of --tool-function for agents with tools of the function', async () => {
    const input_schema = { type: 'object' };
    const tools = [{ name: 'orders_find', description: 'Find.', approval: 'never', input_schema }];
    const agent = {
      unified_tools: [{ type: 'consultant_call_function', config: { function: functionArn, tools } }],
    };
    const { body } = await replyOf('orders_find {}', { model: 'demo', agent });
    const variables = ['AWS_LAMBDA_FUNCTION_NAME', 'AWS_REGION', 'TZ'];
    expect(body.data).toContain(JSON.stringify({ tool: 'orders_find', variables }));
  });

  it.each<[option: string, value: string, problem: string]>([
    ['--tool-function', `${functionArn.slice(0, -5)}=orders.mjs`, 'It must be ARN=FILE, with the alias of '],
    ['--tool-function', `${functionArn}=package.json`, 'There is no module of JavaScript: '],
    ['--allow-outbound', '::1:80', 'It must be HOST:PORT, such as 127.0.0.1:8080, [::1]:8080 or '],
  ])('refuses %s %j in one line', async (option, value, problem) => {
    const { code, stderr } = await startCommand([option, value]).ended;
    expect([code, stderr.trim().split('\n')]).toEqual([2, [expect.stringContaining(problem)]]);
  });

  it('believes the certificate authority of NODE_EXTRA_CA_CERTS', async () => {
    const read = await toolUser(service, { type: 'consultant_fetch_web_content' });
    expect((await read({ url: `https://localhost:${secure.port}` })).result).toMatchObject({
      data: { content: 'a secret page' },
    });
  });

  it("shows a provider's error on the terminal, which is in no log line and no file; they have its names", async () => {
    const { onCall } = model;
    const text = `Wrong key: canary\u001b[2J ${'x'.repeat(300)}`;
    model.onCall = (call) => call.fail(401, {}, text);
    const response = await replyOf('Hello', { model: 'openai:test' });
    model.onCall = onCall;
    expect([response.status, response.body.message]).toEqual([
      500,
      expect.stringMatching(/^The model refused the request, request id/),
    ]);
    const body = JSON.stringify({ error: { message: text, type: 'scripted' } });
    // JSON has escaped the control character already.
    const shown = `The model provider responded with status 401: ${body.slice(0, 300)}\n`;
    await expect.poll(() => command.errors()).toContain(shown);
    await expect.poll(() => command.output()).toContain('status 401 (type scripted)');
    const logged = command
      .output()
      .split('\n')
      .find((line) => line.includes('status 401'));
    expect(logged).toContain(`"request_id":"${response.headers.get('x-request-id')}"`);
    expect(command.output()).not.toContain('canary');
    const entries = await readdir(data, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('assembly'));
    const contents = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name))));
    // The stored history shows that the files are those of this run.
    expect(contents.filter((content) => content.includes('The model refused the request'))).not.toEqual([]);
    expect(contents.filter((content) => content.includes('canary'))).toEqual([]);
  });
});
