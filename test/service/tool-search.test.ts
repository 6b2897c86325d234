import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import { callRequestedTool, startWebServer, toolUser } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';

const type = 'consultant_search_web';

let scripted: { status: number; body: string | object };
let headers: IncomingHttpHeaders;
const emulator = closeAfterTests(
  await startWebServer((request, response) => {
    headers = request.headers;
    response.writeHead(scripted.status, { 'Content-Type': 'application/json' });
    response.end(typeof scripted.body === 'string' ? scripted.body : JSON.stringify(scripted.body));
  }),
);
const { model, service } = await useScriptedService({
  variables: { WEB_SEARCH_PROVIDER: 'searxng', WEB_SEARCH_URL: `${emulator.url}/searx/` },
});
callRequestedTool(model);
const search = await toolUser(service, { type, config: { max_results: 3 } });
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

const failed = (message: string) => ({ success: false, data: { message } });

describe('a search with SearXNG', () => {
  it('is a step with what was found', async () => {
    const { step, result: ended, text } = await search({ query: ' who & what? ' });
    expect(step).toMatchObject({
      type,
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
    const five = await toolUser(service, { type });
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

  it('is there for an agent with use_search, and not for others', async () => {
    for (const [agent, names] of [
      [{ use_search: true }, [type]],
      [{}, undefined],
    ] as const) {
      const tenant = await openTenant(service, { model: 'openai:test', titles: false, agent });
      const message = JSON.stringify({ name: type, arguments: { query: 'q' } });
      await tenant.send(await tenant.createChat(), { message });
      const received = model.calls.findLast(({ request }) => request.messages.at(-1)?.content === message);
      expect(received).toBeDefined();
      expect(received?.request.tools?.map((tool) => tool.function.name)).toEqual(names);
    }
  });
});
