import type { IncomingHttpHeaders } from 'node:http';
import { expect, it } from 'vitest';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { callRequestedTool, startWebServer, toolUser } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const type = 'consultant_search_web';

let headers: IncomingHttpHeaders;
let results: object;
const brave = closeAfterTests(
  await startWebServer((request, response) => {
    headers = request.headers;
    if (headers['x-subscription-token'] !== 'brave key') response.writeHead(422).end('{}');
    else response.end(JSON.stringify({ type: 'search', web: { type: 'search', results } }));
  }),
);
const folder = await temporaryFolder('service-assembly-');
await synthesize(folder, { webSearch: { provider: 'brave', url: `${brave.url}/res/v1/web/search` } });
const { model, service } = await useScriptedService({
  assembly: folder,
  secretValues: { BraveApiKey: 'brave key' },
});
callRequestedTool(model);

it('a stage with Brave searches with its key, and reads its HTML as text', async () => {
  results = [
    {
      ...{ title: 'Cats &amp; dogs', url: 'https://site.test/1', age: '1d' },
      description: 'It&#x27;s <strong>raining</strong> …',
    },
    { title: 'Other', url: 'https://site.test/2' },
    { title: 'Third', url: 'https://site.test/3', description: null },
  ];
  const search = await toolUser(service, { type, config: { max_results: 2 } });
  const { result } = await search({ query: 'pets' });
  expect(result).toEqual({
    success: true,
    data: [
      { title: 'Cats & dogs', url: 'https://site.test/1', snippet: 'It’s raining …'.replace('’', "'") },
      { title: 'Other', url: 'https://site.test/2', snippet: '' },
    ],
  });
  expect(brave.received.at(-1)).toBe('/res/v1/web/search?q=pets&count=2');
  expect(headers['x-subscription-token']).toBe('brave key');
  expect(service.run.outputs).toHaveProperty('BraveApiKeySecretArn');
});
