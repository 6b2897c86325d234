import { beforeEach, expect, it } from 'vitest';
import { eventOf, type StreamEvent } from '#contract/events.ts';
import type { ProxiedCall } from '#support/dynamo-proxy.ts';
import { functionIds, isReplier } from '#support/entry-points.ts';
import { useProxiedService } from '#support/proxied-service.ts';
import { contentsOf, historyOf } from '#support/turns.ts';

const { model, service, tenant, client, proxy, table } = await useProxiedService({
  // The leases are so long that only a test ends them.
  variables: { LEASE_SECONDS: '240' },
  maxConcurrency: 3,
});

const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };
const response_format = { type: 'json_schema', json_schema: { name: 'person', schema } };
const wrong = '{"age": "seven"}';
const right = '{"age": 7}';

/** Called at each point at which the function may die, with its name. Returns whether it does. */
let at: (point: string) => boolean;
beforeEach(() => {
  at = () => false;
});

/** The first response of the model is wrong, and the one after a repair is right. */
model.onCall = (call) => {
  const isRepair = call.request.messages.length > 1;
  expect(call.body).toMatchObject({ response_format: { json_schema: { schema } } });
  const text = isRepair ? right : wrong;
  const name = isRepair ? 'repair' : 'first call';
  at(`the start of the ${name}`);
  call.chunk(text.slice(0, 5));
  at(`the text of the ${name}`);
  call.chunk(text.slice(5));
  call.finish();
};

/** The usage may be written after the response. */
const isWrite = ({ functionName, target, body }: ProxiedCall): boolean =>
  isReplier(functionName) &&
  /^(Put|Update|Transact)/.test(target) &&
  !JSON.stringify(body).includes('#USAGE');

/** Writes of functions that the table has not carried out yet: a function may die meanwhile. */
let running = 0;

proxy.handle = async (call, pass) => {
  if (!isWrite(call)) return pass();
  if (at(`before ${call.target}`)) return undefined;
  running += 1;
  const response = await pass();
  running -= 1;
  return at(`after ${call.target}`) ? undefined : response;
};

const requests = {
  JSON: { stream: false },
  stream: { resumable: true },
};

/** Sends with the key. The text that the client got, which may be cut off. */
async function send(chatId: number, key: string, kind: keyof typeof requests): Promise<string> {
  const body = { message: 'Who?', agent_id: tenant.agentId, response_format, ...requests[kind] };
  const headers = { 'Idempotency-Key': key };
  let text = '';
  try {
    const response = await client.request('POST', `/chats/${chatId}/messages`, { body, headers });
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
  } catch {
    // The function has died.
  }
  return text;
}

const eventsIn = (text: string): StreamEvent[] =>
  text.split(/(?<=\n\n)/).flatMap((block) => (/\ndata: \{.*\n\n$/s.test(block) ? [eventOf(block)] : []));

const replyIn = (text: string, kind: keyof typeof requests): unknown =>
  kind === 'JSON'
    ? JSON.parse(text).data
    : eventsIn(text).flatMap((event) =>
        event.type === 'response.output_text.completed' ? [event.final_text] : [],
      )[0];

const deltasIn = (text: string): string =>
  eventsIn(text)
    .map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
    .join('');

it.each(['JSON', 'stream'] as const)(
  'a %s whose function dies at any point',
  async (kind) => {
    const points: string[] = [];
    at = (point) => points.push(point) < 0;
    const whole = await tenant.createChat();
    const sent = await send(whole.id, crypto.randomUUID(), kind);
    expect(replyIn(sent, kind), sent).toBe(right);
    expect(points.length).toBeGreaterThan(10);
    for (const index of points.keys()) {
      const chat = await tenant.createChat();
      let passed = 0;
      at = () => {
        passed += 1;
        return passed === index + 1 && service.run.killWorkers(functionIds['send-message']) > 0;
      };
      const key = crypto.randomUUID();
      const cut = await send(chat.id, key, kind);
      at = () => false;
      await expect.poll(() => running).toBe(0);
      expect.soft(right.startsWith(deltasIn(cut)), `${points[index]}: ${cut}`).toBe(true);
      await table.endLease({ ...tenant, chatId: chat.id }).catch(() => undefined);
      const stored = (await historyOf(client, chat.id)).slice(1);
      for (const { content, meta } of stored)
        expect
          .soft([content, meta.error ?? null], points[index])
          .toEqual(content === right ? [right, null] : ['', expect.anything()]);
      const again = await send(chat.id, key, kind);
      expect.soft(right.startsWith(deltasIn(again)), `${points[index]}: ${again}`).toBe(true);
      expect.soft(replyIn(again, kind), points[index]).toBe(right);
      expect.soft(contentsOf(await historyOf(client, chat.id)), points[index]).toEqual(['Who?', right]);
    }
  },
  120_000,
);
