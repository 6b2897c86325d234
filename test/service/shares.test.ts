import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { type ChatEndpoint, startChatEndpoint } from '#support/chat-endpoint.ts';
import { readEvents } from '#support/client.ts';
import { dataTableOf } from '#support/data-table.ts';
import { webFunctions } from '#support/entry-points.ts';
import { openTenant } from '#support/open-tenant.ts';
import type { Tenant } from '#support/service.ts';
import { createChat } from '#support/turns.ts';
import { boundary, filePart, form } from '#support/upload.ts';
import { type RawConnection, startUploadEndpoint } from '#support/upload-endpoint.ts';
import { useScriptedService } from '#support/use-service.ts';

const pools = { replies: 64, uploads: 40, readers: 4, preparations: 2, webhooks: 2 };
const { model, callFor, service, tenant, client } = await useScriptedService({
  variables: { POOL_SIZES: JSON.stringify(pools) },
});
const neighbour = await openTenant(service, { model: 'openai:test', titles: false });

const reportsIn = async (table: ReturnType<typeof dataTableOf>) =>
  (await table.readAll()).filter(({ pk }) => pk === keys.slotReport('').pk);

/** From 16 on, the stage's own environment reports them. */
async function reportedUploads(body: Buffer): Promise<void> {
  const { hostname, port, pathname } = new URL(service.baseUrl);
  const uploads = Array.from({ length: 16 }, () => {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    const head = [
      `POST ${pathname}/chats/upload-file HTTP/1.1`,
      ...[`Host: ${hostname}`, `x-api-key: ${neighbour.apiKey}`, `Content-Length: ${body.length}`],
      `Content-Type: multipart/form-data; boundary=${boundary}`,
    ].join('\r\n');
    socket.write(`${head}\r\n\r\n`);
    socket.write(body.subarray(0, 1));
    return { socket, received: once(socket, 'data') };
  });
  const table = dataTableOf(service);
  onTestFinished(() => table.close());
  const report = expect.objectContaining({ slots: { uploads: { [neighbour.workspaceId]: 16 } } });
  await vi.waitFor(async () => expect(await reportsIn(table)).toContainEqual(report), 60_000);
  for (const { socket } of uploads) socket.write(body.subarray(1));
  for (const { received } of uploads) expect(String(await received)).toMatch(/^HTTP\/1.1 200 /);
}

describe.runIf(webFunctions === 'all')(
  'a workspace that holds its share leaves room for its neighbour',
  () => {
    // Two environments are processes that share nothing but the table.
    it('of replies and readers in serve-chats', async () => {
      const chatId = await createChat(client, tenant);
      const [one, other] = await Promise.all([
        startChatEndpoint(service, model.url, pools),
        startChatEndpoint(service, model.url, pools),
      ]);
      onTestFinished(() => Promise.all([one.close(), other.close()]).then(() => undefined));
      const end = new AbortController();
      onTestFinished(() => end.abort());
      const request = (environment: ChatEndpoint, by: Tenant, path: string, body?: unknown) =>
        fetch(environment.url + path, {
          method: body === undefined ? 'GET' : 'POST',
          headers: { 'content-type': 'application/json', ...environment.headersOf(by) },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          signal: end.signal,
        });
      const called = callFor('Long');
      const body = { message: 'Long', agent_id: tenant.agentId, stream: true, resumable: true };
      const sent = await request(one, tenant, `/chats/${chatId}/messages`, body);
      (await called).chunk('Once');
      const { value: created } = await readEvents(sent)[Symbol.asyncIterator]().next();
      const responseId = (created as { response_id: string }).response_id;
      const path = `/chats/${chatId}/stream?response_id=${responseId}`;
      // A response that nobody refers to is cancelled.
      const responses = [sent];
      const read = async (environment: ChatEndpoint): Promise<number> => {
        const response = await request(environment, tenant, path);
        responses.push(response);
        return response.status;
      };
      const statuses = [sent.status];

      while (statuses.length < 40) statuses.push(await read(one));
      expect(statuses).toEqual([...Array(32).fill(200), ...Array(8).fill(429)]);
      for (let reader = 0; reader < 16; reader += 1) expect(await read(other)).toBe(200);
      // From 16 on, it knows what the other one has given.
      const table = dataTableOf(service);
      onTestFinished(() => table.close());
      await vi.waitFor(async () => expect(await reportsIn(table)).toHaveLength(2), 60_000);
      const last: number[] = [];
      await vi.waitFor(async () => {
        last.push(await read(other));
        expect(last.at(-1)).toBe(429);
      }, 60_000);
      // Alone it would give 32.
      expect(16 + last.length).toBeLessThan(32);

      const rejected = await request(other, tenant, path);
      expect(rejected.headers.get('retry-after')).toBe('1');
      const message = 'Too many requests of the workspace are open: try again in 1 s';
      expect(await rejected.json()).toEqual({ data: null, message, error_code: 10029 });
      const toOpenAi = { model: tenant.agentId, messages: [{ role: 'user', content: 'Hello' }] };
      const rejectedCompletion = await request(other, tenant, '/openai/chat/completions', toOpenAi);
      expect([rejectedCompletion.status, await rejectedCompletion.json()]).toEqual([
        429,
        { error: expect.objectContaining({ message }) },
      ]);
      for (let chat = 0; chat < 20; chat += 1)
        for (const environment of [one, other]) {
          const fields = { name: 'Chat', agent_id: neighbour.agentId };
          expect((await request(environment, neighbour, '/chats', fields)).status).toBe(200);
        }
      expect(responses.filter(({ body }) => body?.locked === false).length).toBeGreaterThan(48);
    });

    it('of receive-uploads', async () => {
      const endpoint = await startUploadEndpoint(service, pools);
      onTestFinished(() => endpoint.close());
      const body = form(filePart('a.txt', 'x'));
      const open = async ({ apiKey }: Tenant) => {
        const connection = await endpoint.connect();
        connection.sendHead([
          endpoint.originSecret,
          ['x-api-key', apiKey],
          ['Content-Type', `multipart/form-data; boundary=${boundary}`],
          ['Content-Length', String(body.length)],
        ]);
        return connection;
      };
      const slow: RawConnection[] = [];
      for (let upload = 0; upload < 22; upload += 1) slow.push(await open(tenant));
      const statusOf = ({ received }: RawConnection) => received().split(' ')[1];
      await vi.waitFor(
        () => expect(slow.filter((upload) => statusOf(upload) === '429')).toHaveLength(2),
        60_000,
      );
      const quick = await open(neighbour);
      quick.socket.write(body);
      await quick.until('\r\n\r\n');
      expect(statusOf(quick)).toBe('200');
      for (const upload of slow) if (statusOf(upload) === undefined) upload.socket.write(body);
      const accepted = () => slow.filter((upload) => statusOf(upload) === '200');
      await vi.waitFor(() => expect(accepted()).toHaveLength(20), 60_000);
      await reportedUploads(body);
    });
  },
);
