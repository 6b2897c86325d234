import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { agentctlOf } from '#support/agentctl.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { peakWhile, residentBytes } from '#support/memory.ts';
import { openTenant } from '#support/open-tenant.ts';
import { createTenant } from '#support/service.ts';
import { callRequestedTool, startWebServer, toolUser } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';

const type = 'consultant_fetch_web_content';

const pages: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {};
const web = closeAfterTests(
  await startWebServer((request, response) => {
    const page = pages[request.url?.split('?')[0] ?? ''];
    if (page === undefined) response.writeHead(404).end('<p>Nothing here</p>');
    else page(response, request);
  }),
);
// Every port of 127.0.0.2 is allowed. Only servers that listen on all addresses listen there.
const { model, service } = await useScriptedService({
  variables: { OUTBOUND_ALLOW: `127.0.0.1:${web.port},127.0.0.2:*` },
});
callRequestedTool(model);
const fetchPage = await toolUser(service, { type });
const allowed_hosts = ['LocalHost', '*.allowed.example', 'xn--bcher-kva.example'];
const fetchListed = await toolUser(service, { type, config: { allowed_hosts } });
const fetchParts = await toolUser(service, { type, name: 'read', config: { max_characters: 10 } });

const failed = (message: string) => ({ success: false, data: { message } });
const html = (response: ServerResponse, body: string | Buffer, headers: Record<string, string> = {}) =>
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...headers }).end(body);

/** The error message of a failed fetch. It checks that the reply continues and that the model got the same message. */
async function failureOf(path: string): Promise<string> {
  const { result, modelText } = await fetchPage({ url: web.url + path });
  expect(modelText).toEqual(result);
  expect(result).toEqual({ success: false, data: { message: expect.any(String) } });
  return (result.data as { message: string }).message;
}

describe('a page', () => {
  it('is a step with its readable text', async () => {
    pages['/page'] = (response) =>
      html(
        response,
        '<title>A page</title><h1>Hello</h1><p>to <a href="/there">you</a></p><script>no()</script>',
      );
    const { step, result, modelText } = await fetchPage({ url: `${web.url}/page#part` });
    expect(step).toMatchObject({
      type,
      content: `Reading ${web.url}/page#part`,
      args: { url: `${web.url}/page#part` },
    });
    const content = `# Hello\n\nto [you](${web.url}/there)`;
    expect(result).toEqual({
      success: true,
      data: {
        url: `${web.url}/page`,
        title: 'A page',
        content,
        content_type: 'text/html',
        characters: content.length,
        offset: 0,
        next_offset: null,
      },
    });
    expect(modelText).toEqual({ notice: expect.stringContaining('material'), ...result });
  });

  it('is read part by part to its last character', async () => {
    const whole = 'Zwölf 😀 Boxkämpfer 🥊🥊';
    pages['/long'] = (response) =>
      response.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8' }).end(whole);
    const parts: string[] = [];
    for (let offset: number | null = 0; offset !== null; ) {
      const { result } = await fetchParts({ url: `${web.url}/long`, offset });
      const data = result.data as { content: string; characters: number; next_offset: number | null };
      expect(data.characters).toBe([...whole].length);
      parts.push(data.content);
      offset = data.next_offset;
    }
    expect(parts.map((part) => [...part].length)).toEqual([10, 10, 1]);
    expect(parts.join('')).toBe(whole);
    const { result } = await fetchParts({ url: `${web.url}/long`, offset: 22 });
    expect(result).toEqual(failed('The offset 22 is past the end: the content has 21 characters'));
  });

  it('behind redirects tells where it was found', async () => {
    for (let hop = 0; hop < 5; hop += 1)
      pages[`/hop/${hop}`] = (response) => response.writeHead(302, { Location: `${hop + 1}` }).end();
    pages['/hop/5'] = (response) => html(response, 'There');
    const { result } = await fetchPage({ url: `${web.url}/hop/0` });
    expect(result).toMatchObject({ success: true, data: { url: `${web.url}/hop/5`, content: 'There' } });
  });
});

describe('a failure tells what happened', () => {
  it('when there is no page', async () => {
    expect(await failureOf('/none')).toBe('The server answered with status 404');
    pages['/broken'] = (response) => response.writeHead(500).end();
    expect(await failureOf('/broken')).toBe('The server answered with status 500');
  });

  it('when it is no text', async () => {
    pages['/pdf'] = (response) => response.writeHead(200, { 'Content-Type': 'application/pdf' }).end('%PDF');
    expect(await failureOf('/pdf')).toBe('It is of the type application/pdf, which cannot be read as text');
  });

  it('when redirects do not end', async () => {
    pages['/loop'] = (response) => response.writeHead(302, { Location: '/loop' }).end();
    expect(await failureOf('/loop')).toBe('There are more than 5 redirects');
    expect(web.received.filter((path) => path === '/loop')).toHaveLength(6);
  });

  it('when the address is none', async () => {
    for (const url of [
      'no address',
      'ftp://127.0.0.1/',
      'http://user:word@127.0.0.1/',
      'file:///etc/passwd',
      'http:/127.0.0.1/',
      ' http://127.0.0.1/',
      'http:\\\\127.0.0.1/',
    ])
      expect((await fetchPage({ url })).result).toEqual(
        failed(
          'The address must be an http or https URL without a user name and password, blanks and backslashes',
        ),
      );
  });

  it('when 100 MB come, of which no more than needed is read', async () => {
    let sent = 0;
    pages['/large'] = (response) => {
      response.writeHead(200, { 'Content-Type': 'text/html' });
      const more = () => {
        sent += 100_000;
        if (sent > 100_000_000) response.end();
        else if (!response.destroyed) response.write(Buffer.alloc(100_000, 'x'), more);
      };
      more();
    };
    const before = await residentBytes(process.pid);
    expect(before).toBeGreaterThan(20_000_000);
    const peak = await peakWhile(process.pid, async () => {
      expect(await failureOf('/large')).toBe('The answer is larger than 5 MB');
    });
    expect(peak - before).toBeLessThan(100_000_000);
    expect(sent).toBeLessThan(50_000_000);
  });

  it('when a page drips, or does not come, in 15 and 8 seconds', async () => {
    pages['/drip'] = (response) => {
      response.writeHead(200, { 'Content-Type': 'text/plain' });
      const drip = setInterval(() => response.write('.'), 200);
      response.once('close', () => clearInterval(drip));
    };
    pages['/silent'] = () => undefined;
    expect(await Promise.all(['/drip', '/silent'].map(failureOf))).toEqual([
      'It took longer than 15 seconds',
      'It took longer than 8 seconds',
    ]);
  });

  // Each page takes half a second. A quadratic algorithm would take minutes, and fail after 15 s.
  it('but not when a hostile page is nested or unclosed', async () => {
    const hostile = ['<div>', '<a href="', '<svg><foreignObject>'];
    for (const [index, text] of hostile.entries())
      pages[`/hostile/${index}`] = (response) => html(response, text.repeat(4_900_000 / text.length));
    for (const index of hostile.keys())
      expect((await fetchPage({ url: `${web.url}/hostile/${index}` })).result.success).toBe(true);
  });
});

const forbidden = failed('The address is not allowed');
const outside = failed('A redirect leads to an address that is not allowed');
pages['/to'] = (response, { url }) =>
  response.writeHead(302, { Location: decodeURIComponent(url?.split('?')[1] ?? '') }).end();
const redirectTo = (address: string) => `${web.url}/to?${encodeURIComponent(address)}`;

describe('an address inside is not reached', async () => {
  const inside = closeAfterTests(await startWebServer((_request, response) => response.end('inside')));

  it.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://vm.localhost:PORT/',
    'http://0x7f.1:PORT/',
    'http://2130706433:PORT/',
    'http://0.0.0.0:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'https://10.0.0.1/',
  ])('%s', async (address) => {
    const { result } = await fetchPage({ url: address.replace('PORT', String(inside.port)) });
    // Some resolvers do not resolve subdomains of localhost.
    if (address.includes('vm.'))
      expect([forbidden, failed('The host name does not resolve')]).toContainEqual(result);
    else expect(result).toEqual(forbidden);
    expect(inside.received).toEqual([]);
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'http://localhost:PORT/',
    '//127.1:PORT/',
  ])('by a redirect to %s', async (address) => {
    const { result } = await fetchPage({ url: redirectTo(address.replace('PORT', String(inside.port))) });
    expect(result).toEqual(outside);
    expect(inside.received).toEqual([]);
  });
});

it('what is allowed is reached, by its address or a name for it', async () => {
  pages['/'] = (response) => response.end('allowed');
  for (const host of ['127.0.0.1', 'localhost']) {
    const { result } = await fetchPage({ url: `http://${host}:${web.port}/` });
    expect(result).toMatchObject({ success: true, data: { content: 'allowed' } });
  }
  expect((await fetchPage({ url: 'http://127.0.0.2:1/' })).result).toEqual(
    failed('The port 1 is not allowed'),
  );
});

it('the ports of the engines are refused though allowed, also behind a redirect', async () => {
  const { dynamodb, s3, secretsmanager } = service.run.endpoints;
  for (const endpoint of [dynamodb, s3, secretsmanager]) {
    const address = `http://127.0.0.2:${new URL(endpoint).port}/`;
    expect((await fetchPage({ url: address })).result).toEqual(forbidden);
    expect((await fetchPage({ url: redirectTo(address) })).result).toEqual(outside);
  }
});

describe('an agent with a list of hosts', () => {
  /** An address of the web server by its host name, which is on the list. */
  const listed = (path: string) => `http://localhost:${web.port}${path}`;
  const rejectionOf = (host: string) =>
    failed(`The host ${host} is not on the list of hosts that this tool may read`);

  it('reads pages of a host on it, in any case', async () => {
    pages['/listed'] = (response) => html(response, 'Listed');
    for (const url of [listed('/listed'), listed('/listed').replace('localhost', 'LOCALHOST.')])
      expect((await fetchListed({ url })).result).toMatchObject({
        success: true,
        data: { content: 'Listed' },
      });
  });

  it.each([
    ['127.0.0.1', () => `${web.url}/listed`],
    ['allowed.example', () => 'https://allowed.example/'],
    ['notallowed.example', () => 'https://notallowed.example/'],
    ['deep.allowed.example.test', () => 'https://deep.allowed.example.test/'],
    ['sub.localhost', () => 'http://sub.localhost/'],
  ])('does not ask %s', async (host, urlOf) => {
    const before = web.received.length;
    const { result, modelText } = await fetchListed({ url: urlOf() });
    expect(result).toEqual(rejectionOf(host));
    expect(modelText).toEqual(result);
    expect(web.received).toHaveLength(before);
  });

  it.each(['http://deep.below.allowed.example:1/', 'http://BÜCHER.example:1/'])(
    'may ask %s, whose port no page has',
    async (url) => {
      const { result } = await fetchListed({ url });
      expect(result).toEqual(failed('The port 1 is not allowed'));
    },
  );

  it('does not follow a redirect that leaves it', async () => {
    pages['/leave'] = (response) => response.writeHead(302, { Location: `${web.url}/listed` }).end();
    pages['/stay'] = (response) => response.writeHead(302, { Location: '/listed' }).end();
    const before = web.received.length;
    expect((await fetchListed({ url: listed('/stay') })).result.success).toBe(true);
    expect((await fetchListed({ url: listed('/leave') })).result).toEqual(rejectionOf('127.0.0.1'));
    expect(web.received.slice(before)).toEqual(['/stay', '/listed', '/leave']);
  });

  it('is made by agentctl, which names the entry that is no host', async () => {
    const { workspaceId } = await createTenant();
    const config = { allowed_hosts: ['good.example', 'https://a.example'] };
    const { code, stderr } = await agentctlOf(service).createAgent(workspaceId, {
      ...{ name: 'Reader', unified_tools: [{ type, config }] },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/unified_tools\[0\]\.config\.allowed_hosts\[1\] .*host name/);
  });
});

it('without a provider an agent that wants to search has no tool for it', async () => {
  const agent = { use_search: true };
  const tenant = await openTenant(service, { model: 'openai:test', titles: false, agent });
  const message = JSON.stringify({ name: 'consultant_search_web', arguments: { query: 'q' } });
  await tenant.send(await tenant.createChat(), { message });
  const received = model.calls.find(({ request }) => request.messages.at(-1)?.content === message);
  expect(received?.request).not.toHaveProperty('tools');
});
