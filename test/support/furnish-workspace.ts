import { requestsOf, submit, waitForBatchEnd } from './batches.ts';
import { dataOf, openTenant } from './open-tenant.ts';
import type { Service } from './service.ts';
import { uploaderOf } from './upload.ts';

/**
 * Creates a workspace with three chats with replies, two files, one of which stays unused, and a batch that has ended. All texts contain the marker.
 */
export async function furnishWorkspace(
  service: Service,
  marker: string,
  { chatsBefore = 0 }: { chatsBefore?: number } = {},
) {
  const tenant = await openTenant(service, {
    titles: false,
    agent: { name: `${marker} agent`, system_prompt: marker },
  });
  // Ids count up inside a workspace: after these chats, it has ids that smaller workspaces do not have.
  await Promise.all(Array.from({ length: chatsBefore }, () => tenant.createChat()));
  const chats = [];
  for (let index = 0; index < 3; index += 1) {
    const chat = await tenant.createChat({ name: `${marker} chat` });
    dataOf(await tenant.send(chat, { message: `${marker} message` }));
    const reply = (await tenant.history(chat)).at(-1);
    chats.push({ chat_id: chat.id, message_id: reply?.id ?? 0 });
  }
  const uploader = uploaderOf(service, tenant);
  const uuidOfNew = async (name: string) => {
    const upload = await uploader.file(`${name}.txt`, `${marker} content`);
    return (dataOf(upload) as { uuid: string }).uuid;
  };
  const [fileUuid, unusedFileUuid] = [await uuidOfNew(marker), await uuidOfNew(`${marker} unused`)];
  const batch = await submit(
    tenant.client,
    tenant,
    requestsOf(2, () => ({ message: `${marker} request` })),
  );
  await waitForBatchEnd(tenant.client, batch.id);
  return { tenant, chats, fileUuid, unusedFileUuid, batchId: batch.id };
}
