import fc from 'fast-check';
import { expect, it } from 'vitest';
import { documentedRoutes, type RouteName, routes } from '#contract/routes.ts';
import { furnishWorkspace } from '#support/furnish-workspace.ts';
import { checkFuzzResponse } from '#support/fuzz/check-fuzz-response.ts';
import { type FuzzRequest, fuzzRequests } from '#support/fuzz/fuzz-requests.ts';
import { exchange } from '#support/fuzz/raw-exchange.ts';
import { dataOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';

/** `FUZZ_SEED=… FUZZ_ONLY=…` repeats one request of a run. */
const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
const only = process.env.FUZZ_ONLY;
const count = Number(process.env.FUZZ_REQUESTS ?? (process.env.SOAK === undefined ? 700 : 50_000));

/** So many concurrent requests keep two processors busy, and no request waits for long. */
const atOnce = 8;
const shownAtMost = 20;

/**
 * With so many responses, a route must have both successes and rejections: at least one request in twenty succeeds.
 * With fewer, one of them may be missing by chance.
 */
const manyResponses = 300;

const responsesOf = (times: ReadonlyMap<number, number> = new Map()): number =>
  [...times.values()].reduce((sum, each) => sum + each, 0);

const service = await useService();

async function openFuzzWorld() {
  const marker = `canary-${crypto.randomUUID().slice(0, 8)}`;
  const [own, other] = [await furnishWorkspace(service, 'own'), await furnishWorkspace(service, marker)];
  return {
    tenant: own.tenant,
    /** Each element has the ids of one chat, and of everything that a request can name together with this chat. */
    known: own.chats.map((ids) => ({
      ...ids,
      history_id: ids.chat_id,
      agent_id: own.tenant.agentId,
      batch_id: own.batchId,
      attached_file_uuids: own.fileUuid,
      'idempotency-key': fc.uuid(),
      // Nothing listens on this port, so each delivery is refused at once.
      url: 'https://localhost:9/hook',
    })),
    /** Texts of the other workspace, which no response may contain. */
    canaries: [
      marker,
      other.tenant.workspaceId,
      other.tenant.apiKey,
      other.tenant.agentId,
      other.fileUuid,
      other.batchId,
    ],
  };
}

const world = await openFuzzWorld();
const { outputs, physicalIds } = service.run;
const secrets = {
  canaries: world.canaries,
  internals: [...Object.values(outputs), ...Object.values(physicalIds)].filter(
    // The base address is no secret, and short ids are ordinary words.
    (name) => name.length > 12 && !name.startsWith('http'),
  ),
};

function portOf(door: FuzzRequest['door']): number {
  return Number(new URL(door === 'front' ? service.baseUrl : service.run.endpoints.gateway).port);
}

/** How often each route responded with each status. */
type Statuses = Map<RouteName, Map<number, number>>;

/** Sends the requests with these indexes, and returns the problems of their responses. */
async function sendAll(indexes: number[], statuses: Statuses): Promise<string[]> {
  const requests = fuzzRequests(world.tenant.apiKey, world.known);
  const problems: string[] = [];
  const queue = indexes.values();
  const work = async (): Promise<void> => {
    for (const index of queue) {
      // Each request has its own seed, so that one can be repeated without all requests before it.
      const [request] = fc.sample(requests, { seed: (seed + index) | 0, numRuns: 1 }) as [FuzzRequest];
      const { route, door, method, target, what } = request;
      let shown = '';
      let problem: string | undefined;
      try {
        const response = await exchange(portOf(door), { ...request, target: `/api/v1${target}` });
        const counts = statuses.get(route) ?? new Map<number, number>();
        statuses.set(route, counts.set(response?.status ?? 0, (counts.get(response?.status ?? 0) ?? 0) + 1));
        shown = `${response?.status} ${response?.text.slice(0, 600)}`;
        problem = checkFuzzResponse(request, response, secrets);
      } catch (error) {
        problem = (error as Error).message;
      }
      if (only !== undefined) console.log(request, request.body.toString().slice(0, 2000), shown);
      if (problem !== undefined)
        problems.push(
          `FUZZ_ONLY=${index} ${door} ${method} ${target.slice(0, 200)}, ${what}\n  ${problem}\n  ${shown}`,
        );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return problems;
}

it(`answers every request as the contract says, whatever it is (seed ${seed})`, {
  timeout: 30_000 + count * 100,
}, async () => {
  const indexes = only === undefined ? Array.from({ length: count }, (_, index) => index) : [Number(only)];
  const statuses: Statuses = new Map();
  const problems = await sendAll(indexes, statuses);
  const lines = [...statuses].map(
    ([route, counts]) => `${route} ${JSON.stringify(Object.fromEntries(counts))}`,
  );
  console.log(`FUZZ_SEED=${seed}, ${indexes.length} requests\n${lines.sort().join('\n')}`);
  if (problems.length > 0)
    throw new Error(
      `${problems.length} of ${indexes.length} with FUZZ_SEED=${seed}:\n${problems.slice(0, shownAtMost).join('\n')}`,
    );
  if (only !== undefined) return;
  // A route that rejects everything, or is never reached, must not pass unnoticed.
  const names = documentedRoutes.map(({ name }) => name);
  expect([...statuses.keys()].toSorted()).toEqual(names.toSorted());
  const timesOf = (route: RouteName, status: number): number => statuses.get(route)?.get(status) ?? 0;
  const successes = (route: RouteName): number => timesOf(route, routes[route].status);
  const sum = (times: (route: RouteName) => number): number =>
    names.reduce((total, route) => total + times(route), 0);
  expect(sum(successes)).toBeGreaterThan(count / 10);
  expect(sum((route) => timesOf(route, 400))).toBeGreaterThan(count / 10);
  const often = names.filter((route) => responsesOf(statuses.get(route)) >= manyResponses);
  // All batches have ended, so none can be cancelled.
  const oneSided = often.filter(
    (route) => route !== 'cancel-batch' && (successes(route) === 0 || timesOf(route, 400) === 0),
  );
  expect(oneSided).toEqual([]);
});

it('is as well as before', async () => {
  const chat = await world.tenant.createChat();
  expect(dataOf(await world.tenant.send(chat, { message: 'Still there' }))).toMatch(/Still there/);
  const events = await world.tenant.client.stream(chat.id, {
    message: 'And here',
    agent_id: world.tenant.agentId,
  });
  expect((await events.all()).at(-1)).toBe('[DONE]');
});
