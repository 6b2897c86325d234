import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { chatWithTool } from '#support/demo-tools.ts';
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
/** What SearXNG answers. */
let scripted: { status: number; body: string | object };
let headers: IncomingHttpHeaders;
const emulator = closeAfterTests(
  await startWebServer((request, response) => {
    headers = request.headers;
    response.writeHead(scripted.status, { 'Content-Type': 'application/json' });
    response.end(typeof scripted.body === 'string' ? scripted.body : JSON.stringify(scripted.body));
  }),
);
interface ApiResponse {
  status: number;
  type?: string;
  body: unknown;
}

let queries: { path: string | undefined; body: unknown; signed: boolean }[];
let answer: ApiResponse;
const bedrock = closeAfterTests(
  await startWebServer(async (request, response) => {
    const signed = request.headers.authorization?.includes('/bedrock/aws4_request') ?? false;
    queries.push({ path: request.url, body: JSON.parse(await textOf(request)), signed });
    const { status, type: errorType, body } = answer;
    const ofError = errorType !== undefined && { 'x-amzn-ErrorType': errorType };
    response.writeHead(status, { 'Content-Type': 'application/json', ...ofError }).end(JSON.stringify(body));
  }),
);
const { model, service, tenant } = await useScriptedService({
  variables: {
    OUTBOUND_ALLOW: `127.0.0.1:${web.port},127.0.0.2:1`,
    AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME: bedrock.url,
    ...{ WEB_SEARCH_PROVIDER: 'searxng', WEB_SEARCH_URL: `${emulator.url}/searx/` },
  },
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
  const { result, text } = await fetchPage({ url: web.url + path });
  expect(JSON.parse(text)).toEqual(result);
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
    const { step, result, text } = await fetchPage({ url: `${web.url}/page#part` });
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
    expect(JSON.parse(text)).toEqual({ notice: expect.stringContaining('material'), ...result });
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

  it('when redirects do not end', async () => {
    pages['/loop'] = (response) => response.writeHead(302, { Location: '/loop' }).end();
    expect(await failureOf('/loop')).toBe('There are more than 5 redirects');
    expect(web.received.filter((path) => path === '/loop')).toHaveLength(6);
  });

  it('when the address is none', async () => {
    for (const url of ['file:///etc/passwd', ' http://127.0.0.1/', 'http:\\\\127.0.0.1/'])
      expect((await fetchPage({ url })).result).toEqual(
        failed(
          'The address must be an http or https URL without a user name and password, blanks and backslashes',
        ),
      );
  });

  it('when it is larger than 5 MB', async () => {
    pages['/large'] = (response) => html(response, Buffer.alloc(5_000_001, 'x'));
    expect(await failureOf('/large')).toBe('The answer is larger than 5 MB');
  });
});

const forbidden = failed('The address is not allowed');
const outside = failed('A redirect leads to an address that is not allowed');
pages['/to'] = (response, { url }) =>
  response.writeHead(302, { Location: decodeURIComponent(url?.split('?')[1] ?? '') }).end();
const redirectTo = (address: string) => `${web.url}/to?${encodeURIComponent(address)}`;

describe('an address inside is not reached', async () => {
  const inside = closeAfterTests(await startWebServer((_request, response) => response.end('inside')));

  it.each(['http://localhost:PORT/', 'http://169.254.169.254/latest/meta-data/'])('%s', async (address) => {
    const url = address.replace('PORT', String(inside.port));
    expect((await fetchPage({ url })).result).toEqual(forbidden);
    expect((await fetchPage({ url: redirectTo(url) })).result).toEqual(outside);
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
    const { result } = await fetchListed({ url: urlOf() });
    expect(result).toEqual(rejectionOf(host));
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
});

const searching = 'consultant_search_web';
const search = await toolUser(service, { type: searching, config: { max_results: 3 } });
beforeEach(() => {
  scripted = { status: 200, body: { query: 'q', results: found(20), answers: [] } };
});

/** Results in SearXNG's format, with additional fields. */
const found = (count: number) =>
  Array.from({ length: count }, (_each, index) => ({
    title: `Title ${index}`,
    url: `https://site.test/${index}`,
    content: index === 1 ? null : `Content ${index}`,
    emulator: 'any',
    score: 1 / (index + 1),
  }));
const result = (index: number) => ({
  title: `Title ${index}`,
  url: `https://site.test/${index}`,
  snippet: index === 1 ? '' : `Content ${index}`,
});

describe('a search with SearXNG', () => {
  it('is a step with what was found', async () => {
    const { step, result: ended, text } = await search({ query: ' who & what? ' });
    expect(step).toMatchObject({
      type: searching,
      content: 'Searching the web for: who & what?',
      args: { query: 'who & what?' },
    });
    expect(ended).toEqual({ success: true, data: [result(0), result(1), result(2)] });
    expect(JSON.parse(text)).toEqual({ notice: expect.stringContaining('material'), ...ended });
    expect(emulator.received.at(-1)).toBe('/searx/search?q=who+%26+what%3F&format=json');
    expect(headers).not.toHaveProperty('x-subscription-token');
  });

  it('gives as many as the model asks for, up to what the agent allows', async () => {
    const { step, result: ended } = await search({ query: 'q', count: 1 });
    expect(step.args).toEqual({ query: 'q', count: 1 });
    expect(ended.data).toEqual([result(0)]);
    for (const count of [0, 4, 1.5])
      expect((await search({ query: 'q', count })).result).toEqual(
        failed('The arguments do not fit this tool'),
      );
    const five = await toolUser(service, { type: searching });
    expect((await five({ query: 'q' })).result.data).toHaveLength(5);
  });

  it('shows where it has shortened what a provider says', async () => {
    scripted.body = { results: [{ title: 't', url: 'https://site.test/', content: 'x'.repeat(5000) }] };
    const [first] = (await search({ query: 'q' })).result.data as { snippet: string }[];
    expect(first?.snippet).toBe(`${'x'.repeat(999)}…`);
  });

  it.each([
    [429, 'The service takes no more requests for now', {}],
    [500, 'The service answered with status 500', {}],
    [200, "The service's answer is not what it should be", '<html>'],
    [200, "The service's answer is not what it should be", { results: [{ title: 'no address' }] }],
    [200, 'The answer is larger than 2 MB', JSON.stringify({ results: [], more: 'x'.repeat(2_000_000) })],
  ])('that gets status %i fails: %s', async (status, message, body) => {
    scripted = { status, body };
    expect((await search({ query: 'q' })).result).toEqual(failed(`The search failed. ${message}`));
  });
});

const retrieving = 'consultant_retrieve_context_source';
const knowledgeBaseId = 'ABCDE12345';
const openChat = (config: Record<string, unknown> = {}) => {
  queries = [];
  return chatWithTool(service, tenant, retrieving, { knowledge_base_id: knowledgeBaseId, ...config });
};

describe('a knowledge base of Amazon Bedrock', () => {
  it('is asked in place of the documents, and its passages name their source', async () => {
    const webLocation = { url: 'https://example.com/refunds' };
    answer = {
      status: 200,
      body: {
        retrievalResults: [
          {
            content: { type: 'TEXT', text: 'Refunds take fourteen days.' },
            location: { type: 'S3', s3Location: { uri: 's3://handbook/refunds.pdf' } },
            score: 0.87654321,
            metadata: { 'x-amz-bedrock-kb-document-page-number': 3, 'x-amz-bedrock-kb-chunk-id': 'c' },
          },
          { content: { text: 'See the site.' }, location: { type: 'WEB', webLocation }, score: 0.5 },
          { content: { text: 'From elsewhere.' } },
        ],
      },
    };
    const chat = await openChat({ max_passages: 3 });
    expect(await chat.search('refund')).toEqual({
      results: [
        {
          text: 'Refunds take fourteen days.',
          source: { type: 's3', uri: 's3://handbook/refunds.pdf', page: 3 },
          score: 0.8765,
        },
        { text: 'See the site.', source: { type: 'web', uri: 'https://example.com/refunds' }, score: 0.5 },
        { text: 'From elsewhere.', source: { type: 'unknown' }, score: 0 },
      ],
    });
    expect(queries).toEqual([
      {
        path: `/knowledgebases/${knowledgeBaseId}/retrieve`,
        body: {
          retrievalQuery: { text: 'refund' },
          retrievalConfiguration: { vectorSearchConfiguration: { numberOfResults: 3 } },
        },
        signed: true,
      },
    ]);
  });

  it.each([
    ['AccessDeniedException', 403, 'This service may not query the knowledge base'],
    ['ResourceNotFoundException', 404, 'The knowledge base does not exist'],
    ['ValidationException', 400, 'The knowledge base could not answer'],
    ['ThrottlingException', 429, 'The knowledge base is busy; it may answer later'],
  ])('that answers %s is a failed step in words of ours', async (errorType, status, message) => {
    answer = { status, type: errorType, body: { message: 'arn:aws:iam::1:role/secret' } };
    const chat = await openChat();
    await chat.say(`${retrieving} {"query":"refund"}`);
    expect((await chat.lastStep()).result).toEqual({ success: false, data: { message } });
    expect(queries).toHaveLength(errorType === 'ThrottlingException' ? 3 : 1);
  });
});
