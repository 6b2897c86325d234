import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { setDefaultCACertificates } from 'node:tls';
import { openMcp } from '#adapters/mcp/mcp-client.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { ReplyScope } from '#agents/tools/agent-tool.ts';
import { mcpKind } from '#agents/tools/kinds/mcp.ts';
import { certificate } from '#support/certificate.ts';
import { agentVersion } from '#support/frozen/entities.ts';
import { scriptedMcp } from '#support/scripted-mcp.ts';
import { textTable } from '../../bin/agentctl/text-table.ts';
import { median } from './statistics.ts';

// What the uses of a tool of an MCP server add to a reply: the first one, which connects, and each further one. The server
// is a process of its own. `peer` is one bare request to it on an open connection, and is a part of the other times. The exit
// code is 1 if a median is above a limit.

const replies = 200;
const usesOfReply = 4;
/** Milliseconds; the round trips of the first use without and with a handshake. */
const limits = { plain: 5, tls: 10, further: 3, modern: 1, legacy: 4 };

const protocols = { modern: '2026-07-28', legacy: '2025-11-25' };

const tool = { name: 'echo', tool: 'echo', description: 'Says it again.', approval: 'never' };

async function startPeer(wire: string) {
  const child = fork(import.meta.filename, ['serve', wire], { execArgv: [] });
  const [url] = (await once(child, 'message')) as [string];
  const countRequests = async (): Promise<number> => {
    child.send('count');
    const [count] = (await once(child, 'message')) as [number];
    return count;
  };
  return { url, countRequests, close: () => child.kill() };
}

async function serve(wire: string): Promise<void> {
  const server = await scriptedMcp({ tls: wire === 'tls' });
  process.on('message', () => process.send?.(server.received.length));
  process.send?.(server.url);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const requestBare = (url: string) =>
  new Promise<void>((ended, failed) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'server/discover', params: {} });
    const headers = { 'mcp-protocol-version': protocols.modern, 'content-type': 'application/json' };
    const request = url.startsWith('https:') ? tlsRequest : plainRequest;
    request(url, { method: 'POST', headers }, (response) => response.resume().on('end', ended))
      .on('error', failed)
      .end(body);
  });

async function measure(wire: 'plain' | 'tls', era: keyof typeof protocols) {
  const peer = await startPeer(wire);
  const url = new URL(peer.url);
  const http = remoteHttp({
    rules: {
      allow: [{ host: url.hostname, port: Number(url.port) }],
      denied: [],
      resolve: async () => ['127.0.0.1'],
    },
    credentialOf: async () => ({ headers: {}, query: {}, secrets: [], forget: () => undefined }),
    depth: () => 0,
  });
  const services = { http, countUse: () => () => () => undefined, checkTarget: async () => undefined };
  const kind = mcpKind({ ...services, openMcp: (target) => openMcp(http, target) });
  const pinned = { ...tool, input_schema: { type: 'object' } };
  const config = kind.config.parse({ url: peer.url, protocol: protocols[era], tools: [pinned] });
  const [offer = assert.fail()] = kind.offers(config, {});
  const times = { peer: [] as number[], first: [] as number[], further: [] as number[], end: [] as number[] };
  let requests = 0;
  for (let reply = 0; reply < replies; reply += 1) {
    const scope = new ReplyScope();
    const { signal } = new AbortController();
    const use = { chat: null, agents: [agentVersion], attachments: [], scope, signal } as never;
    const before = await peer.countRequests();
    times.first.push(await timed(() => offer.run({ word: 'Hello' }, use)));
    requests = (await peer.countRequests()) - before;
    for (let number = 1; number < usesOfReply; number += 1)
      times.further.push(await timed(() => offer.run({ word: 'Hello' }, use)));
    times.end.push(await timed(() => scope.close()));
    times.peer.push(await timed(() => requestBare(peer.url)));
  }
  peer.close();
  return {
    ...{ wire, era, requests, peer: median(times.peer), first: median(times.first) },
    ...{ further: median(times.further), end: median(times.end) },
  };
}

type Figures = Awaited<ReturnType<typeof measure>>;

async function measureAll(): Promise<void> {
  setDefaultCACertificates([certificate.cert]);
  const all: Figures[] = [];
  for (const wire of ['plain', 'tls'] as const)
    for (const era of ['modern', 'legacy'] as const) all.push(await measure(wire, era));
  const shown = all.map(({ wire, era, requests, peer, first, further, end }) => [
    ...[wire, era, String(requests)],
    ...[peer, first, further, end].map((time) => time.toFixed(2)),
  ]);
  const titles = [
    'wire',
    'era',
    'requests of the first use',
    'ms peer',
    'ms first use',
    'ms further use',
    'ms end',
  ];
  for (const line of textTable(titles, shown)) console.log(line);
  const isAbove = ({ wire, era, requests, first, further }: Figures) =>
    (era === 'modern' && first > limits[wire]) || further > limits.further || requests > limits[era];
  if (all.some(isAbove)) process.exitCode = 1;
}

if (process.argv[2] === 'serve') await serve(process.argv[3] ?? '');
else await measureAll();
