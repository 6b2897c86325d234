import { describe, expect, it } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { callRequestedTool, startWebServer, toolUser } from '#support/tool-use.ts';
import { useScriptedService } from '#support/use-service.ts';

const inside = closeAfterTests(await startWebServer((_request, response) => response.end('inside')));
const redirecting = closeAfterTests(
  await startWebServer((request, response) => {
    const location = decodeURIComponent(request.url?.slice(1) ?? '');
    if (location === '') response.end('allowed');
    else response.writeHead(302, { Location: location }).end();
  }),
);
// Every port of 127.0.0.2 is allowed. Only servers that listen on all addresses listen there.
const { model, service } = await useScriptedService({
  variables: { OUTBOUND_ALLOW: `127.0.0.1:${redirecting.port},127.0.0.2:*` },
});
callRequestedTool(model);
const fetchPage = await toolUser(service, { type: 'consultant_fetch_web_content' });

const failed = (message: string) => ({ success: false, data: { message } });
const forbidden = failed('The address is not allowed');

describe('an address inside is not reached', () => {
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
    const url = address.replace('PORT', String(inside.port));
    const { result } = await fetchPage({ url });
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
    const location = encodeURIComponent(address.replace('PORT', String(inside.port)));
    const { result } = await fetchPage({ url: `${redirecting.url}/${location}` });
    expect(result).toEqual(failed('A redirect leads to an address that is not allowed'));
    expect(inside.received).toEqual([]);
  });
});

it('what is allowed is reached, by its address or a name for it', async () => {
  for (const host of ['127.0.0.1', 'localhost']) {
    const { result } = await fetchPage({ url: `http://${host}:${redirecting.port}/` });
    expect(result).toMatchObject({ success: true, data: { content: 'allowed' } });
  }
  expect((await fetchPage({ url: 'http://127.0.0.2:1/' })).result).toEqual(
    failed('The port 1 is not allowed'),
  );
});

it('the ports of the engines are refused though allowed, also behind a redirect', async () => {
  const { dynamodb, s3, secretsmanager } = service.run.endpoints;
  const endpoints = [dynamodb, s3, secretsmanager];
  for (const endpoint of endpoints) {
    const address = `http://127.0.0.2:${new URL(endpoint).port}/`;
    expect((await fetchPage({ url: address })).result).toEqual(forbidden);
    expect((await fetchPage({ url: `${redirecting.url}/${encodeURIComponent(address)}` })).result).toEqual(
      failed('A redirect leads to an address that is not allowed'),
    );
  }
});
