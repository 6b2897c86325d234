import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it, onTestFinished } from 'vitest';
import { clientOf } from '#support/client.ts';
import { dataOf, openTenant } from '#support/open-tenant.ts';
import { type ModelCall, startScriptedModel } from '#support/scripted-model.ts';
import { startSoakService } from '#support/soak/start-soak-service.ts';
import { stepThrough } from '#support/turns.ts';
import { useLocalTable } from '../../bin/operator.ts';

const streams = 200;
/** Four deltas a second, as fast as people read. */
const deltaMilliseconds = 250;
const endlessMessage = 'Go on for ever';
/** Each figure is the median of so many requests. */
const rounds = 11;

const firstDelta = 'first delta';

const medianOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

it.runIf(process.env.SOAK !== undefined)(
  `lists, the authorizer and replies respond as before while another tenant has ${streams} streams that never end`,
  {
    timeout: 600_000,
  },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'busy-neighbour-'));
    const model = await startScriptedModel();
    const endless: ModelCall[] = [];
    let ended = 0;
    const { onCall } = model;
    model.onCall = (call) => {
      if (call.request.messages.at(-1)?.content !== endlessMessage) return onCall(call);
      endless.push(call);
      void call.gone.then(() => {
        ended += 1;
      });
    };
    const ticking = setInterval(() => {
      for (const call of endless) call.chunk('and so on ');
    }, deltaMilliseconds);
    const service = await startSoakService({
      assembly: inject('assembly'),
      dataDir: join(folder, 'data'),
      environment: { OPENAI_BASE_URL: model.url },
    });
    const leave = new AbortController();
    onTestFinished(async () => {
      clearInterval(ticking);
      leave.abort();
      await service.close();
      await model.close();
      await rm(folder, { recursive: true, force: true });
    });
    useLocalTable(service.stores.outputs.DataTableName ?? '', service.stores.endpoints.dynamodb);
    const onWire = { baseUrl: service.baseUrl } as Parameters<typeof openTenant>[0];

    const quiet = await openTenant(onWire, { model: 'openai:test', titles: false });
    const chat = await quiet.createChat();
    dataOf(await quiet.send(chat));
    const measured: Record<string, () => Promise<unknown>> = {
      'GET /chats': async () => dataOf(await quiet.client.get('/chats')),
      'GET messages': () => quiet.history(chat),
      'GET published agents': async () => dataOf(await quiet.client.get('/chats/published-agents')),
      'GET /batches': async () => dataOf(await quiet.client.get('/batches')),
      // The response for an unknown key is never cached, so each request invokes the authorizer.
      authorizer: async () => {
        const { status } = await clientOf(onWire, { apiKey: `ak_${crypto.randomUUID()}` }).get('/chats');
        expect(status).toBe(400);
      },
    };
    const timeToFirstDelta = async (): Promise<number> => {
      const times: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const start = performance.now();
        const body = { message: 'Hi', agent_id: quiet.agentId };
        const events = stepThrough(await quiet.client.stream(chat.id, body));
        for (let type = ''; type !== 'response.output_text.delta'; ) {
          const event = await events.next();
          if (event === undefined || event === '[DONE]') throw new Error('The stream had no delta');
          type = event.type;
        }
        times.push(performance.now() - start);
        await events.rest();
      }
      return medianOf(times);
    };
    const measure = async (): Promise<Record<string, number>> => {
      const medians: Record<string, number> = { [firstDelta]: await timeToFirstDelta() };
      for (const [name, request] of Object.entries(measured)) {
        const times: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const start = performance.now();
          await request();
          times.push(performance.now() - start);
        }
        medians[name] = medianOf(times);
      }
      return medians;
    };
    // The first round starts the functions and compiles their code.
    await measure();
    const alone = await measure();

    const busy = await openTenant(onWire, { model: 'openai:test', titles: false });
    await Promise.all(
      Array.from({ length: streams }, async () => {
        const { id } = await busy.createChat();
        const body = { message: endlessMessage, agent_id: busy.agentId };
        const events = stepThrough(await busy.client.stream(id, body, { signal: leave.signal }));
        for (let started = false; !started; ) {
          const event = await events.next();
          if (event === undefined || event === '[DONE]') throw new Error('A stream ended');
          started = event.type === 'response.output_text.delta';
        }
        void events.rest().catch(() => undefined);
      }),
    );
    expect(endless).toHaveLength(streams);
    const withStreams = await measure();
    expect(ended).toBe(0);
    const limitOf = (name: string): number => {
      const before = alone[name] ?? 0;
      return name === firstDelta ? Math.max(2 * before, 100) : Math.max(4 * before, 150);
    };
    const slow = Object.entries(withStreams).filter(([name, milliseconds]) => milliseconds > limitOf(name));
    console.log(JSON.stringify({ alone, withStreams }));
    expect(slow, JSON.stringify({ alone, withStreams })).toEqual([]);
  },
);
