import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  checkedAddresses,
  hostResolver,
  isPublicAddress,
  type OutboundRules,
} from '#adapters/outbound/addresses.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { httpWebPages } from '#adapters/outbound/web-pages.ts';
import { parseHostAndPort } from '#contract/urls.ts';
import type { OutboundFailure } from '#domain/platform/failures.ts';
import { openApiDocument } from '#lib/openapi-document.ts';
import { type DnsNames, startDnsServer } from '#support/dns-server.ts';
import { manualClock } from '#support/manual-clock.ts';
import { sampleTextWorker } from '#support/sample-text-worker.ts';

const entries = (...texts: string[]) =>
  texts.map((text) => {
    const entry = parseHostAndPort(text);
    if (entry === undefined) throw new Error(`No host and port: ${text}`);
    return entry;
  });

const names: Record<string, string[]> = {
  'public.test': ['93.184.216.34', '2606:2800:220:1::1'],
  'inside.test': ['10.1.2.3'],
  'mixed.test': ['93.184.216.34', '10.1.2.3'],
  'metadata.test': ['169.254.169.254'],
  'mapped.test': ['::ffff:169.254.169.254'],
  'both.test': ['127.0.0.1', '::1'],
  'nothing.test': [],
};
const resolve = async (host: string) => {
  const found = names[host];
  if (found === undefined) throw new Error('ENOTFOUND');
  return found;
};
const check = (url: string, rules: Partial<OutboundRules> = {}) =>
  checkedAddresses(new URL(url), { allow: [], denied: [], resolve, ...rules }, new AbortController().signal);
const kindOf = (error: unknown) => (error as OutboundFailure).kind;
const rejection = (url: string, rules?: Partial<OutboundRules>) =>
  check(url, rules).then((addresses) => `reached ${addresses}`, kindOf);

it.each([
  ...['93.184.216.34', '8.8.8.8', '172.32.0.1', '2606:2800:220:1::1', '2a00:1450:4001::200e'],
  // IPv4-mapped and NAT64 forms.
  ...['::ffff:8.8.8.8', '64:ff9b::808:808'],
])('the address %s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

it.each([
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1']],
  ['loopback', ['127.0.0.1', '127.255.255.254', '::1']],
  ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
  ['link-local', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1']],
  ['carrier-grade NAT', ['100.64.0.1', '100.127.255.255']],
  ['multicast and broadcast', ['224.0.0.1', '239.1.1.1', '255.255.255.255', 'ff02::1']],
  [
    'reserved',
    ['192.0.0.1', '192.0.2.1', '192.88.99.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '240.0.0.1'],
  ],
  ['reserved in IPv6', ['2001:db8::1', '3fff::1', '100::1', '2001:2::1', '5f00::1', '4000::1', '1::1']],
  ['unique-local and site-local', ['fc00::1', 'fd12:3456::1', 'fec0::1']],
  ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::ffff:10.0.0.1', '::ffff:0:127.0.0.1']],
  ['IPv4-compatible', ['::127.0.0.1', '::7f00:1', '::8.8.8.8']],
  ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::808:808']],
  ['6to4', ['2002:7f00:1::1', '2002:a00:1::', '2002:808:808::']],
  ['Teredo', ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2']],
  ['no addresses', ['', 'example', '1.2.3', '300.1.1.1', '::1::']],
])('addresses are not public: %s', (_kind, addresses) => {
  expect(addresses.filter(isPublicAddress)).toEqual([]);
});

describe('where a request may go', () => {
  it('to all addresses of a public name', async () => {
    expect(await check('https://public.test/page')).toEqual(names['public.test']);
  });

  it.each([
    'http://127.0.0.1/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://①②⑦.0.0.1/',
    'http://0/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://inside.test/',
    'http://INSIDE.test./',
    'http://metadata.test/',
    'http://mapped.test/',
  ])('not to %s', async (url) => {
    expect(await rejection(url)).toBe('forbidden');
  });

  it('not to a name when one of its addresses is not public', async () => {
    expect(await rejection('http://mixed.test/')).toBe('forbidden');
  });

  it('not to a name that does not resolve', async () => {
    expect(await rejection('http://unknown.test/')).toBe('unresolved');
    expect(await rejection('http://nothing.test/')).toBe('unresolved');
  });

  it.each([
    'ftp://public.test/',
    'file:///etc/passwd',
    'data:text/plain,a',
    'http://user@public.test/',
    'http://:word@public.test/',
  ])('not to %s, which is no plain address of the web', async (url) => {
    expect(await rejection(url)).toBe('malformed');
  });

  it('to every port but those that OpenAPI lists, which could be made to speak another protocol', async () => {
    const { description = '' } = openApiDocument('1.0.0').paths?.['/batches']?.post ?? {};
    const [, listed = ''] = /none of other protocols: ([\d, ]+)\./.exec(description) ?? [];
    const forbidden: number[] = [];
    for (let port = 0; port <= 11_000; port += 1)
      if ((await rejection(`http://8.8.8.8:${port}/`)) === 'forbidden') forbidden.push(port);
    expect(forbidden).toEqual(listed.split(', ').map(Number));
    expect(forbidden).toHaveLength(83);
  });

  it('to an allowed address and port, by whatever name, and to nothing beside', async () => {
    const allow = entries('127.0.0.1:8080');
    expect(await check('http://127.0.0.1:8080/', { allow })).toEqual(['127.0.0.1']);
    expect(await check('http://2130706433:8080/', { allow })).toEqual(['127.0.0.1']);
    expect(await check('http://both.test:8080/', { allow })).toEqual(['127.0.0.1']);
    expect(await rejection('http://127.0.0.1:8081/', { allow })).toBe('forbidden');
    expect(await rejection('http://127.0.0.2:8080/', { allow })).toBe('forbidden');
    expect(await rejection('http://[::1]:8080/', { allow })).toBe('forbidden');
  });

  it('to an allowed name, whatever it resolves to', async () => {
    const allow = entries('Inside.TEST:443', '[::1]:80', 'metadata.test:*');
    expect(await check('https://inside.test/', { allow })).toEqual(['10.1.2.3']);
    expect(await rejection('http://inside.test/', { allow })).toBe('forbidden');
    expect(await rejection('https://10.1.2.3/', { allow })).toBe('forbidden');
    expect(await check('http://[0:0::1]/', { allow })).toEqual(['::1']);
    expect(await check('http://metadata.test:81/', { allow })).toEqual(['169.254.169.254']);
  });

  it('never to what the function lives on, though allowed, by whatever address of this machine', async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    const hosts = ['127.0.0.1', '127.0.0.2', '0.0.0.0', '[::1]', '[::]', '[::ffff:127.0.0.1]', 'both.test'];
    for (const { address, family } of own) hosts.push(family === 'IPv6' ? `[${address}]` : address);
    const rules = {
      allow: entries(...hosts.flatMap((host) => [`${host}:8000`, `${host}:8001`])),
      denied: entries('127.0.0.1:8000'),
    };
    for (const host of hosts) {
      expect([host, await rejection(`http://${host}:8000/`, rules)]).toEqual([host, 'forbidden']);
      expect([host, await rejection(`http://${host}:8001/`, rules)]).not.toEqual([host, 'forbidden']);
    }
  });

  it('not to the address of a name that is refused', async () => {
    const rules = { allow: entries('10.1.2.3:*'), denied: entries('inside.test:8000') };
    expect(await rejection('http://10.1.2.3:8000/', rules)).toBe('forbidden');
    expect(await rejection('http://10.1.2.3:8001/', rules)).toBe('reached 10.1.2.3');
  });

  it.each(['unknown.test', 'nothing.test'])(
    'nowhere on its port while denied %s is unknown',
    async (name) => {
      const rules = { allow: entries('10.1.2.3:*'), denied: entries('127.0.0.1:8000', `${name}:8000`) };
      for (const host of ['10.1.2.3', 'public.test', name])
        expect(await rejection(`http://${host}:8000/`, rules)).toBe('unresolved');
      expect(await rejection('http://127.0.0.1:8000/', rules)).toBe('forbidden');
      expect(await rejection('http://10.1.2.3:8001/', rules)).toBe('reached 10.1.2.3');
    },
  );
});

describe('a host and a port', () => {
  it.each([
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[::1]:8080', { host: '[::1]', port: 8080 }],
    ['[0:0:0:0:0:0:0:1]:1', { host: '[::1]', port: 1 }],
    ['Wiki.Internal:443', { host: 'wiki.internal', port: 443 }],
    ['wiki:*', { host: 'wiki', port: '*' }],
  ])('%s', (text, expected) => {
    expect(parseHostAndPort(text)).toEqual(expected);
  });

  it.each([
    ...['', 'a b:80', 'a:80 '],
    ...'host :80 host: host:0 host:65536 host:http ::1:80 [::1] [::g]:80 http://a:80 a:80/ u@a:80'.split(' '),
  ])('not %j', (text) => {
    expect(parseHostAndPort(text)).toBeUndefined();
  });
});

const noSignal = () => new AbortController().signal;

/** A resolver of users' names that asks a DNS server with these names alone. */
async function resolving(names: DnsNames, operatorHosts: Record<string, string[]> = {}) {
  const server = await startDnsServer(names);
  onTestFinished(server.close);
  const clock = manualClock();
  const resolve = hostResolver(Object.keys(operatorHosts), {
    clock,
    servers: [server.address],
    systemLookup: async (host) => operatorHosts[host] ?? [],
  });
  return { server, clock, resolve, rules: { allow: [], denied: [], resolve } satisfies OutboundRules };
}

describe('names that a DNS server never answers', () => {
  it('ten at once delay neither the read of a file nor a name of the system', async () => {
    const { server, clock, rules } = await resolving({});
    const pages = httpWebPages(rules, sampleTextWorker());
    const webhooks = httpWebhookSender({ rules, allowsPlainLoopback: false, timeout: 60_000, clock });
    const events: string[] = [];
    const noted = (what: string) => (result: unknown) => void events.push(`${what}: ${result}`);
    const unresolved = (what: string, call: Promise<unknown>) =>
      call.then(noted(what), (error: OutboundFailure) => noted(what)(error.kind));
    const calls = Array.from({ length: 4 }, (_, index) => [
      unresolved('page', pages.read('workspace', `https://page${index}.test/`, undefined, noSignal())),
      unresolved('delivery', webhooks.post(`https://hook${index}.test/`, { headers: {}, body: '' })),
    ]).flat();
    // A creation waits 3 s by the real clock, so it is no part of the order.
    const creations = [0, 1].map((index) => webhooks.rejectionOf(`https://new${index}.test/`));
    await server.received(20);

    await readFile(import.meta.filename).then(() => noted('neighbour')('file'));
    await lookup('localhost').then(() => noted('neighbour')('name'));
    await clock.advance(5000);
    await Promise.all(calls);
    expect(events.slice(0, 2)).toEqual(['neighbour: file', 'neighbour: name']);
    expect(events.slice(2).sort()).toEqual([
      ...Array<string>(4).fill('delivery: unresolved'),
      ...Array<string>(4).fill('page: unresolved'),
    ]);
    expect(await Promise.all(creations)).toEqual([null, null]);
  });

  it('end with the request that needs them, or after 5 s, each for itself', async () => {
    const { server, clock, resolve } = await resolving({});
    const events: string[] = [];
    const start = (host: string, { signal }: AbortController) =>
      resolve(host, signal).then((found) => events.push(`${host} ${found.length}`));
    const request = new AbortController();
    const last = new AbortController();
    const old = start('old.test', new AbortController());
    await clock.advance(1);
    const calls = [start('aborted.test', request), start('young.test', last)];
    await server.received(6);
    request.abort();
    await clock.advance(4999);
    last.abort();
    await Promise.all([old, ...calls]);
    expect(events).toEqual(['aborted.test 0', 'old.test 0', 'young.test 0']);
    await expect(resolve('late.test', request.signal)).rejects.toThrow('aborted');
  });
});

describe('the addresses of a name of a user', () => {
  const check = async (names: DnsNames, url = 'https://named.test/') => {
    const { rules } = await resolving(names);
    return checkedAddresses(new URL(url), rules, noSignal()).catch((error: OutboundFailure) => error.kind);
  };

  it('are those of both families', async () => {
    const named = { A: ['93.184.216.34', '8.8.8.8'], AAAA: ['2606:2800:220:1::1'] };
    expect(await check({ 'named.test': named }, 'https://NAMED.test./')).toEqual([
      '93.184.216.34',
      '8.8.8.8',
      '2606:2800:220:1::1',
    ]);
  });

  it.each<DnsNames[string]>([
    { A: ['93.184.216.34'], AAAA: [] },
    { A: ['93.184.216.34'], AAAA: 'failure' },
  ])('are those of one family if the other has none or fails: %j', async (named) => {
    expect(await check({ 'named.test': named })).toEqual(['93.184.216.34']);
  });

  it.each<DnsNames[string]>([
    { A: ['93.184.216.34'], AAAA: ['::1'] },
    { A: ['93.184.216.34'], AAAA: ['fd00:ec2::254'] },
    { A: ['93.184.216.34', '169.254.169.254'], AAAA: [] },
    { A: [], AAAA: ['64:ff9b::a9fe:a9fe'] },
    { A: ['0.0.0.0'], AAAA: 'failure' },
  ])('must all be public: %j', async (named) => {
    expect(await check({ 'named.test': named })).toBe('forbidden');
  });

  it.each<DnsNames[string]>([
    { A: [], AAAA: [] },
    { A: 'failure', AAAA: 'failure' },
  ])('may be none: %j', async (named) => {
    expect(await check({ 'named.test': named })).toBe('unresolved');
  });

  it('are at most 16 of each family', async () => {
    const many = Array.from({ length: 40 }, (_, index) => `93.184.216.${index}`);
    expect(await check({ 'named.test': { A: many, AAAA: [] } })).toHaveLength(16);
  });

  it('are loopback for localhost and names below it, without a query', async () => {
    const { resolve, server } = await resolving({ localhost: { A: ['8.8.8.8'], AAAA: [] } });
    for (const host of ['localhost', 'deep.below.localhost'])
      expect(await resolve(host, noSignal())).toEqual(['127.0.0.1', '::1']);
    expect(server.queries).toEqual([]);
  });
});

describe('a name on the lists of an operator', () => {
  it('is resolved by the system, and no other name is', async () => {
    const { resolve, server } = await resolving(
      { 'wiki.internal': { A: ['8.8.8.8'], AAAA: [] }, 'public.test': { A: ['8.8.4.4'], AAAA: [] } },
      { 'wiki.internal': ['10.1.2.3'] },
    );
    expect(await resolve('wiki.internal', noSignal())).toEqual(['10.1.2.3']);
    expect(await resolve('public.test', noSignal())).toEqual(['8.8.4.4']);
    expect(server.queries.sort()).toEqual(['A public.test', 'AAAA public.test']);
  });

  /** Look-ups that the test answers. */
  const resolvingBySystem = () => {
    const clock = manualClock();
    const open: { host: string; answer: (addresses: string[]) => void; fail: (error: Error) => void }[] = [];
    const systemLookup = (host: string) => {
      const { promise, resolve: answer, reject: fail } = Promise.withResolvers<readonly string[]>();
      open.push({ host, answer, fail });
      return promise;
    };
    const resolve = hostResolver(['one.internal', 'two.internal'], { clock, systemLookup });
    return { clock, open, addressesOf: (host: string) => resolve(host, noSignal()) };
  };
  const turn = () => new Promise(setImmediate);

  it('is resolved once a minute, whoever asks', async () => {
    const { clock, open, addressesOf } = resolvingBySystem();
    const both = Promise.all([addressesOf('one.internal'), addressesOf('one.internal')]);
    await turn();
    open[0]?.answer(['10.0.0.1']);
    expect(await both).toEqual([['10.0.0.1'], ['10.0.0.1']]);
    await clock.advance(59_999);
    expect(await addressesOf('one.internal')).toEqual(['10.0.0.1']);
    expect(open).toHaveLength(1);
    await clock.advance(1);
    const next = addressesOf('one.internal');
    await turn();
    open[1]?.answer(['10.0.0.2']);
    expect(await next).toEqual(['10.0.0.2']);
  });

  it('waits for the one before, so that all hold one thread', async () => {
    const { open, addressesOf } = resolvingBySystem();
    const both = Promise.all([addressesOf('one.internal'), addressesOf('two.internal')]);
    await turn();
    expect(open.map(({ host }) => host)).toEqual(['one.internal']);
    open[0]?.fail(new Error('EAI_AGAIN'));
    await turn();
    open[1]?.answer(['10.0.0.2']);
    expect(await both).toEqual([[], ['10.0.0.2']]);
  });

  it('is tried again five seconds after a failure', async () => {
    const { clock, open, addressesOf } = resolvingBySystem();
    const failed = addressesOf('one.internal');
    await turn();
    open[0]?.fail(new Error('EAI_AGAIN'));
    expect(await failed).toEqual([]);
    await clock.advance(4999);
    expect(await addressesOf('one.internal')).toEqual([]);
    await clock.advance(1);
    const next = addressesOf('one.internal');
    await turn();
    open[1]?.answer(['10.0.0.1']);
    expect(await next).toEqual(['10.0.0.1']);
  });
});
