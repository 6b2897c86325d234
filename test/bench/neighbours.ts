import { connect, type Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import { type Client, clientOf, readEvents } from '#support/client.ts';
import { dataTableOf } from '#support/data-table.ts';
import { startScriptedModel } from '#support/scripted-model.ts';
import { chatItems, messageItems } from '#support/seed.ts';
import { type AgentFields, createTenant, setLimits, type Tenant } from '#support/service.ts';
import { createChat } from '#support/turns.ts';
import { boundary, uploaderOf } from '#support/upload.ts';
import { print } from './print.ts';
import { startStack } from './start-stack.ts';
import { median } from './statistics.ts';

// What a workspace notices of a neighbour that attacks within its default rate limits: pairs of times alone and times
// during the attack. The pools are as wide as this machine's processors.
const [only] = process.argv.slice(2);
const pairs = 5;
/** How often each pair does each thing. */
const repetitions = 4;
/** Milliseconds that an attack lasts before the neighbour's times are taken, and that its end takes. */
const [leadIn, closing] = [4000, 10_000];

/** Of each function. More would only slow each other on this machine. */
const threads = 4 * availableParallelism();

const model = await startScriptedModel();
const stack = await startStack({
  model: model.url,
  threads,
  settings: {
    webEnvironments: 2,
    requestsPerEnvironment: 64,
    preparationConcurrency: Math.max(2, availableParallelism()),
    batchWorkers: Math.max(2, availableParallelism()),
  },
});
const service = { baseUrl: `${stack.url}/v1` };

const searches = 28;
model.onCall = (call) => {
  const { messages } = call.request;
  const text = JSON.stringify(messages);
  const calls = messages.filter(({ role }) => role === 'tool').length;
  if (text.includes('Hold the line')) return call.chunk('One moment');
  if (text.includes('Look it up') && calls < searches)
    for (let use = 0; use < 4; use += 1)
      call.callTools({
        name: 'consultant_lookup',
        arguments: { query: `ferry island ${calls} ${use} ${'word '.repeat(200)}` },
      });
  else if (text.includes('Fetch them') && calls < 8)
    for (let use = 0; use < 4; use += 1)
      call.callTools({
        name: 'consultant_fetch_web_content',
        arguments: { url: `http://${calls}-${use}.example.org/` },
      });
  else call.chunk('Hello');
  call.finish();
};

interface Attacker {
  tenant: Tenant;
  client: Client;
  /**
   * Starts the attack: the workspace, which had no limits, has the default ones. Calls again and again, so many times a
   * second after a burst, until the attack ends.
   */
  every(perSecond: number, burst: number, call: () => Promise<unknown>): Promise<void>;
  /** Opens a connection, sends a head, and reads nothing. */
  open(head: string): Socket;
  signal: AbortSignal;
}

type Attack = (attacker: Attacker) => Promise<unknown>;

/** Open connections of one pair. */
const sockets = new Set<Socket>();
const { hostname, port, pathname } = new URL(service.baseUrl);
const requestHead = (line: string, apiKey: string, headers: readonly string[] = []): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', `x-api-key: ${apiKey}`, ...headers, '', ''].join('\r\n');
const uploadPath = `${pathname}/chats/upload-file`;
const formType = `Content-Type: multipart/form-data; boundary=${boundary}`;

const nested = (bytes: number): string => '['.repeat(30) + '[],'.repeat(Math.floor(bytes / 3) - 30);

const attacks: Record<string, Attack> = {
  'forms of empty parts': ({ every, tenant }) => {
    const body = Buffer.from(`--${boundary}\r\n\r\n\r\n`.repeat(400_000));
    return every(2, 5, () =>
      fetch(new URL(uploadPath, stack.url), {
        method: 'POST',
        headers: { 'x-api-key': tenant.apiKey, 'content-type': formType.slice(14) },
        body,
      }).then((response) => response.text()),
    );
  },
  'bodies of empty arrays': ({ every, client }) =>
    Promise.all([
      every(10, 100, () => client.request('POST', '/chats', { body: nested(64_000) })),
      every(1 / 6, 10, () => client.request('POST', '/batches', { body: nested(6_000_000) })),
    ]),
  'readers of one reply': async ({ every, client, tenant, signal }) => {
    const chatId = await createChat(client, tenant);
    const body = { message: 'Hold the line', agent_id: tenant.agentId, resumable: true };
    const events = readEvents(
      await client.request('POST', `/chats/${chatId}/messages`, { body: { ...body, stream: true }, signal }),
    )[Symbol.asyncIterator]();
    const { response_id: responseId } = (await events.next()).value as { response_id: string };
    const path = `/chats/${chatId}/stream?response_id=${responseId}`;
    const responses: Response[] = [];
    await every(20, 40, async () => responses.push(await client.request('GET', path, { signal })));
  },
  'paused readers': async ({ every, tenant, open }) => {
    const { workspaceId, agentId } = tenant;
    const [chatId, count] = [1, 40];
    const externalUserId = 'anyone';
    const table = dataTableOf({ run: stack });
    await table.writeItems(
      chatItems({
        workspaceId,
        agentId,
        externalUserId,
        count: 1,
        name: 'Long',
        messageCounts: { 1: count },
      }),
    );
    await table.writeItems(messageItems({ workspaceId, chatId, count, content: () => 'x'.repeat(262_000) }));
    table.close();
    const line = `GET ${pathname}/chats/${chatId}/messages?limit=1000&external_user_id=anyone`;
    await every(20, 40, async () => void open(requestHead(line, tenant.apiKey)));
  },
  'slow uploads': async ({ every, tenant, open, signal }) => {
    await every(2, 5, async () => {
      const socket = open(
        requestHead(`POST ${uploadPath}`, tenant.apiKey, [formType, 'Content-Length: 1000000']),
      );
      const drip = setInterval(() => socket.write('x'), 1000);
      signal.addEventListener('abort', () => clearInterval(drip));
    });
  },
  'slow files': async ({ every, client, tenant }) => {
    const html = Buffer.from('<a href=x>y</a>'.repeat(1_000_000));
    await every(2, 5, async () => {
      const { body } = await uploaderOf(service, tenant).file('slow.html', html, { type: 'text/html' });
      const { uuid } = body.data as { uuid: string };
      const chatId = await createChat(client, tenant);
      await client.post(`/chats/${chatId}/messages`, {
        ...{ message: 'Read it', agent_id: tenant.agentId, stream: false, attached_file_uuids: [uuid] },
      });
    });
  },
  'look-ups in a long text': async ({ every, client, tenant }) => {
    const text = Buffer.from('The ferry to the island leaves at ten. '.repeat(250_000));
    const { body } = await uploaderOf(service, tenant).file('long.txt', text, { type: 'text/plain' });
    const { uuid } = body.data as { uuid: string };
    await every(5, 10, async () => {
      const chatId = await createChat(client, tenant);
      await client.post(`/chats/${chatId}/messages`, {
        ...{ message: 'Look it up', agent_id: tenant.agentId, stream: false, attached_file_uuids: [uuid] },
      });
    });
  },
  'names that do not resolve': ({ every, client, tenant }) =>
    every(5, 10, async () => {
      const chatId = await createChat(client, tenant);
      await client.post(`/chats/${chatId}/messages`, {
        ...{ message: 'Fetch them', agent_id: tenant.agentId, stream: false },
      });
    }),
  'messages of blanks, with titles': ({ every, client, tenant }) =>
    every(5, 10, async () => {
      const chatId = await createChat(client, tenant);
      await client.post(`/chats/${chatId}/messages`, {
        ...{ message: `a${' '.repeat(250_000)}b`, agent_id: tenant.agentId, stream: false },
      });
    }),
};

const neighbour = await createTenant({ model: 'openai:scripted', titles: false });
const own = clientOf(service, neighbour);
const chatOfSends = await createChat(own, neighbour);

/** What the neighbour does. @returns the status */
const uses: Record<string, () => Promise<number>> = {
  send: async () =>
    (
      await own.post(`/chats/${chatOfSends}/messages`, {
        ...{ message: 'Hi', agent_id: neighbour.agentId, stream: false },
      })
    ).status,
  create: async () => (await own.post('/chats', { name: 'Chat', agent_id: neighbour.agentId })).status,
  list: async () => (await own.get('/chats?limit=10')).status,
  upload: async () =>
    (await uploaderOf(service, neighbour).file('a.txt', 'x', { type: 'text/plain' })).status,
};

interface Sample {
  times: number[];
  refused: number;
}

async function sample(): Promise<Record<string, Sample>> {
  const samples: Record<string, Sample> = {};
  for (const [name, use] of Object.entries(uses)) {
    const found: Sample = { times: [], refused: 0 };
    samples[name] = found;
    for (let count = 0; count < repetitions; count += 1) {
      const start = performance.now();
      if ((await use()) !== 200) found.refused += 1;
      found.times.push(performance.now() - start);
    }
  }
  return samples;
}

const agentOfAttacks: AgentFields = {
  unified_tools: [{ type: 'consultant_lookup' }, { type: 'consultant_fetch_web_content' }],
  meta: { max_steps: 20 },
};

async function startAttack(attack: Attack): Promise<() => Promise<void>> {
  const tenant = await createTenant({ model: 'openai:scripted', agent: agentOfAttacks });
  const started = Promise.withResolvers<void>();
  const startLimits = async (): Promise<void> => {
    await setLimits(tenant.workspaceId, {});
    started.resolve();
  };
  const end = new AbortController();
  const every: Attacker['every'] = async (perSecond, burst, call) => {
    await startLimits();
    for (let count = 0; !end.signal.aborted; count += 1) {
      void call().catch(() => undefined);
      if (count >= burst) await after(1000 / perSecond);
    }
  };
  const open: Attacker['open'] = (head) => {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    socket.pause().write(head);
    sockets.add(socket);
    return socket;
  };
  const attacking = attack({ tenant, client: clientOf(service, tenant), every, open, signal: end.signal });
  void attacking.catch((error) => end.signal.aborted || print({ failed: String(error) }));
  await started.promise;
  await after(leadIn);
  return async () => {
    end.abort();
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await after(closing);
  };
}

async function measure(name: string, attack: Attack): Promise<void> {
  const found = Object.keys(uses).map((use) => ({
    ...{ use, alone: [] as number[], attacked: [] as number[], refused: 0 },
  }));
  for (let pair = 0; pair < pairs; pair += 1) {
    const alone = await sample();
    const end = await startAttack(attack);
    const attacked = await sample();
    await end();
    for (const line of found) {
      line.alone.push(median(alone[line.use]?.times ?? []));
      line.attacked.push(median(attacked[line.use]?.times ?? []));
      line.refused += attacked[line.use]?.refused ?? 0;
    }
  }
  for (const { use, alone, attacked, refused } of found) {
    const [before, during] = [median(alone), median(attacked)];
    const isWithin = refused === 0 && during <= Math.max(3 * before, 250);
    print({ attack: name, use, alone: Math.round(before), attacked: Math.round(during), refused, isWithin });
  }
}

try {
  await sample();
  for (const [name, attack] of Object.entries(attacks))
    if (only === undefined || name.includes(only)) await measure(name, attack);
} finally {
  await stack.close();
  await model.close();
}
process.exit();
