import { expect } from 'vitest';
import type { UploadedFile } from '#contract/message.ts';
import { clientOf } from './client.ts';
import type { ScriptedModel } from './scripted-model.ts';
import { type AgentFields, createTenant, type Service } from './service.ts';
import { createChat, historyOf, send } from './turns.ts';
import { uploaderOf } from './upload.ts';

/** The messages of the last request to a scripted model, as JSON. */
export const lastPrompt = (model: ScriptedModel): string =>
  JSON.stringify(model.calls.at(-1)?.request.messages);

/** A tenant whose agent uses the scripted model, and a chat with it. */
export async function openAttachmentChat(service: Service, agent: AgentFields = {}) {
  const tenant = await createTenant({ model: 'openai:test', titles: false, agent });
  const client = clientOf(service, tenant);
  const chatId = await createChat(client, tenant);
  return {
    ...tenant,
    client,
    chatId,
    async upload(name: string, content: string | Uint8Array, type: string, data?: unknown): Promise<string> {
      const { status, body } = await uploaderOf(service, tenant).file(name, content, { type, data });
      expect(status, body.message ?? '').toBe(200);
      return (body.data as UploadedFile).uuid;
    },
    /** Returns the agent's reply; fails if the status is not 200. */
    async send(message: string, ...uuids: string[]): Promise<string> {
      const { status, body } = await send(client, tenant, chatId, message, {
        ...(uuids.length > 0 && { attached_file_uuids: uuids }),
      });
      expect(status, body.message ?? '').toBe(200);
      return body.data;
    },
    history: () => historyOf(client, chatId),
  };
}

/** How many files were prepared for models. */
export const countPreparedFiles = ({ run }: Pick<Service, 'run'>): number =>
  run
    .calls()
    .filter(({ operation, name }) => operation === 'invocation' && name?.includes('PrepareAttachment'))
    .length;
