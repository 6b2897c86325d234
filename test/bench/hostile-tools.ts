import assert from 'node:assert/strict';
import { openMcp } from '#adapters/mcp/mcp-client.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { type Offer, ReplyScope, ToolFailure } from '#agents/tools/agent-tool.ts';
import { httpApi } from '#agents/tools/kinds/http-api.ts';
import { mcpKind } from '#agents/tools/kinds/mcp.ts';
import { agentVersion } from '#support/frozen/entities.ts';
import { hostileEndpoints } from '#support/hostile-endpoints.ts';
import { startHostileServer } from '#support/hostile-server.ts';
import { textTable } from '../../bin/agentctl/text-table.ts';

// What a hostile server costs a process: twenty uses of a tool at once, of MCP and of an HTTP API. The server is a process of
// its own. The exit code is 1 if a median is above a limit.

const calls = 20;
const rounds = 5;
const seconds = 1;
/** Milliseconds after the time of a use, milliseconds of processor in one turn of the event loop, megabytes for each use. */
const limits = { overrun: 200, turn: 50, memory: 8 };

type Figures = Record<keyof typeof limits, number>;

const tool = { name: 'x', description: 'X.', approval: 'never', input_schema: { type: 'object' } };

function openOffers(port: number) {
  const http = remoteHttp({
    rules: { allow: [{ host: '127.0.0.1', port }], denied: [], resolve: async () => [] },
    credentialOf: async () => ({ headers: {}, query: {}, secrets: [], forget: () => undefined }),
    depth: () => 0,
  });
  const services = { http, countUse: () => () => () => undefined, checkTarget: async () => undefined };
  const mcp = mcpKind({ ...services, openMcp: (target) => openMcp(http, target) });
  const api = httpApi(services);
  const base = (index: number) => ({ timeout_seconds: seconds, url: `http://127.0.0.1:${port}/${index}` });
  return {
    mcp: (index: number) => {
      const config = mcp.config.parse({ ...base(index), tools: [{ ...tool, tool: 'x' }] });
      return mcp.offers(config, {})[0];
    },
    http: (index: number) => {
      const { url, ...fields } = base(index);
      const operation = { ...tool, method: 'POST', path: `/${index}` };
      const config = api.config.parse({ ...fields, base_url: new URL(url).origin, tools: [operation] });
      return api.offers(config, {})[0];
    },
  };
}

/** @returns when the use has ended, in milliseconds after its time */
async function useOnce(offer: Offer): Promise<number> {
  const scope = new ReplyScope();
  const { signal } = new AbortController();
  const use = { chat: null, agents: [agentVersion], attachments: [], scope, signal } as never;
  const startedAt = performance.now();
  await offer.run({}, use).catch((error: unknown) => assert.ok(error instanceof ToolFailure, String(error)));
  const overrun = performance.now() - startedAt - seconds * 1000;
  await scope.close();
  return overrun;
}

async function useAtOnce(offer: Offer): Promise<Figures> {
  globalThis.gc?.();
  const used = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = used();
  let peak = before;
  let turn = 0;
  let cpu = process.threadCpuUsage();
  const timer = setInterval(() => {
    peak = Math.max(peak, used());
    const { user, system } = process.threadCpuUsage(cpu);
    turn = Math.max(turn, (user + system) / 1000);
    cpu = process.threadCpuUsage();
  }, 1);
  const overrun = Math.max(...(await Promise.all(Array.from({ length: calls }, () => useOnce(offer)))));
  clearInterval(timer);
  return { overrun, turn, memory: (peak - before) / calls / 1e6 };
}

function medians(all: readonly Figures[]): Figures {
  const of = (name: keyof Figures) =>
    all.map((figures) => figures[name]).toSorted((one, other) => one - other)[all.length >> 1] ?? Number.NaN;
  return { overrun: of('overrun'), turn: of('turn'), memory: of('memory') };
}

async function measure(): Promise<void> {
  const server = await startHostileServer();
  const figuresOfAll: [string, string, Figures][] = [];
  for (const [kind, offerOf] of Object.entries(openOffers(server.port)))
    for (const [index, [what]] of hostileEndpoints.entries()) {
      const offer = offerOf(index) ?? assert.fail();
      await useAtOnce(offer);
      const measured: Figures[] = [];
      for (let round = 0; round < rounds; round += 1) measured.push(await useAtOnce(offer));
      figuresOfAll.push([kind, what, medians(measured)]);
    }
  server.close();
  const shown = figuresOfAll.map(([kind, what, { overrun, turn, memory }]) => [
    ...[kind, what, overrun < 0 ? '' : overrun.toFixed(0), turn.toFixed(0), memory.toFixed(1)],
  ]);
  for (const line of textTable(
    ['kind', 'server', 'ms after its time', 'ms of a turn', 'MB for each use'],
    shown,
  ))
    console.log(line);
  const names = Object.keys(limits) as (keyof Figures)[];
  const isAbove = ([, , figures]: (typeof figuresOfAll)[number]) =>
    names.some((name) => figures[name] > limits[name]);
  if (figuresOfAll.some(isAbove)) process.exitCode = 1;
}

await measure();
