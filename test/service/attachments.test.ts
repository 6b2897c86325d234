import { afterAll, beforeAll, expect, it } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { type Client, clientOf } from '#support/client.ts';
import { type ScriptedModel, startScriptedModel } from '#support/scripted-model.ts';
import { createTenant, type Service, startService, type Tenant } from '#support/service.ts';
import { createChat, send } from '#support/turns.ts';
import { uploaderOf } from '#support/upload.ts';

let model: ScriptedModel;
let service: Service;
let tenant: Tenant;
let client: Client;
beforeAll(async () => {
  model = await startScriptedModel();
  service = await startService({ variables: { OPENAI_BASE_URL: model.url } });
  tenant = await createTenant({ model: 'openai:test', titles: false });
  client = clientOf(service, tenant);
});
afterAll(async () => {
  await service.close();
  await model.close();
});

async function upload(name: string, content: string | Uint8Array, type: string): Promise<string> {
  const { status, body } = await uploaderOf(service, tenant).file(name, content, { type });
  expect(status, body.message ?? '').toBe(200);
  return (body.data as UploadedFile).uuid;
}

const lastPrompt = () => JSON.stringify(model.calls.at(-1)?.request.messages);

it('gives the model the text of a file, and again with a follow-up', async () => {
  const file = await upload('ferry.csv', 'day,time\nMonday,10:17\n', 'text/csv');
  const chatId = await createChat(client, tenant);
  const { body } = await send(client, tenant, chatId, 'When?', { attached_file_uuids: [file] });
  expect(body.data, body.message ?? '').toBe('Hello');
  expect(lastPrompt()).toContain('Monday,10:17');
  await send(client, tenant, chatId, 'And then?');
  expect(lastPrompt()).toContain('Monday,10:17');
});
