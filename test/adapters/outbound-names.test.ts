import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { checkedAddresses, hostResolver, type OutboundRules } from '#adapters/outbound/addresses.ts';
import { httpWebhookSender } from '#adapters/outbound/http-webhook-sender.ts';
import { httpWebPages } from '#adapters/outbound/web-pages.ts';
import type { OutboundFailure } from '#domain/platform/failures.ts';
import { type DnsNames, startDnsServer } from '#support/dns-server.ts';
import { manualClock } from '#support/manual-clock.ts';
import { sampleTextWorker } from '#support/sample-text-worker.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const noSignal = () => new AbortController().signal;

/** A resolver of users' names that asks a DNS server with these names alone. */
async function resolving(names: DnsNames, operatorHosts: Record<string, string[]> = {}) {
  const server = await startDnsServer(names);
  closing.push(server.close);
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
