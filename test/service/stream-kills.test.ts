import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endOfStream, eventOf } from '#contract/events.ts';
import { runOn } from '#support/agentctl-process.ts';
import { type Client, clientOf } from '#support/client.ts';
import { closeAfterTests, temporaryFolder } from '#support/close-after-tests.ts';
import { startOn } from '#support/command.ts';
import { functionIds } from '#support/entry-points.ts';
import { allOf, pathOf, streamsOf, take } from '#support/resumable-streams.ts';
import { callsByMessage, startScriptedModel } from '#support/scripted-model.ts';
import { createTenant, startService, type Tenant } from '#support/service.ts';
import { contentsOf, historyOf, interrupted, send } from '#support/turns.ts';

const model = closeAfterTests(await startScriptedModel());
const callFor = callsByMessage(model);
const folder = await temporaryFolder('stream-kills-');

/** Runs in real time: a lease must expire. interrupted-streams.test.ts ends leases by itself. */
describe.runIf(process.env.SOAK !== undefined)('a reader of a killed reply gets its end', () => {
  /** Starts a reply, and waits until its first words are stored. */
  async function startReply(client: Client, tenant: Pick<Tenant, 'agentId'>, message: string) {
    const called = callFor(message);
    const { chatId, texts, first, responseId } = await streamsOf({ client, tenant }).start(message);
    (await called).chunk('One, ');
    const sent = [first, ...(await take(texts, 1))];
    // The words are stored when a reader gets them.
    const reader = await client.request('GET', pathOf(chatId, responseId));
    for await (const bytes of reader.body ?? []) if (String(Buffer.from(bytes)).includes('One, ')) break;
    void allOf(texts).catch(() => undefined);
    return { chatId, responseId, sent };
  }

  async function expectEnd(
    client: Client,
    tenant: Pick<Tenant, 'agentId'>,
    { chatId, responseId, sent }: Awaited<ReturnType<typeof startReply>>,
    { killedAt, leaseSeconds }: { killedAt: number; leaseSeconds: number },
  ): Promise<void> {
    const texts = await allOf(await client.request('GET', pathOf(chatId, responseId)));
    const seconds = (performance.now() - killedAt) / 1000;
    console.log(`The stream ended ${seconds.toFixed(1)} s after the kill, with a lease of ${leaseSeconds} s`);
    expect(seconds).toBeLessThan(leaseSeconds + 2);
    expect(texts.slice(0, -2)).toEqual(sent);
    expect(eventOf(texts.at(-2) ?? '')).toMatchObject({
      type: 'response.error',
      ...interrupted,
      sequence_number: 2,
    });
    expect(texts.at(-1)).toBe(endOfStream);
    expect((await send(client, tenant, chatId, 'Go on')).body.data).toBe('Hello');
    const history = await historyOf(client, chatId);
    expect(contentsOf(history).slice(1)).toEqual(['One, ', 'Go on', 'Hello']);
    expect(history[1]?.meta.error).toEqual(interrupted);
  }

  it('after its environment was killed', async () => {
    const leaseSeconds = 6;
    const service = await startService({
      variables: { OPENAI_BASE_URL: model.url, LEASE_SECONDS: String(leaseSeconds) },
    });
    onTestFinished(() => service.close());
    const tenant = await createTenant({ model: 'openai:test', titles: false });
    const client = clientOf(service, tenant);
    const reply = await startReply(client, tenant, 'environment');
    const killedAt = performance.now();
    service.run.killWorkers(functionIds['send-message']);
    await expectEnd(client, tenant, reply, { killedAt, leaseSeconds });
  });

  it('after the whole service was killed, and started again', async () => {
    const data = join(folder, 'data');
    const start = async () => {
      const { command, connection } = await startOn(data, [], { OPENAI_BASE_URL: model.url });
      onTestFinished(command.kill);
      return { command, client: (apiKey: string) => clientOf({ baseUrl: connection.base_url }, { apiKey }) };
    };
    const first = await start();
    const operate = <Result>(...args: string[]): Promise<Result> => runOn(data, ...args);
    const { id: workspace } = await operate<{ id: string }>('workspaces', 'create', '--name', 'Kills');
    await operate('workspaces', 'update', workspace, '--limits', 'none', '--titles', 'off');
    const { api_key } = await operate<{ api_key: string }>('keys', 'create', '--workspace', workspace);
    const file = join(folder, 'agent.json');
    await writeFile(file, '{"name": "Scripted", "llm_model": "openai:test"}');
    const create = ['agents', 'create', '--workspace', workspace, '--file', file];
    const { id: agentId } = await operate<{ id: string }>(...create);
    await operate('agents', 'publish', agentId);
    const reply = await startReply(first.client(api_key), { agentId }, 'service');
    const killedAt = performance.now();
    await first.command.kill();
    const second = await start();
    await expectEnd(second.client(api_key), { agentId }, reply, { killedAt, leaseSeconds: 30 });
  });
});
