import { expect, it } from 'vitest';
import { exportChats } from '#domain/chats/history.ts';
import { dynamoStores } from '#support/dynamo-stores.ts';
import { manualClock } from '#support/manual-clock.ts';
import { sampleWorkspace } from '#support/memory-chat.ts';
import { openMemoryTable } from '#support/memory-table/open-memory-table.ts';

it.each([undefined, 'ann'])('an export of %s has each chat that deletions meanwhile leave', async (user) => {
  const clock = manualClock();
  const stores = dynamoStores(openMemoryTable(), { clock, actor: () => 'tester' });
  const workspaceId = 'ws_1';
  await stores.workspaces.put(sampleWorkspace(workspaceId, clock.now().toISOString()));
  const create = (externalUserId: string | null) =>
    stores.chats.create({ workspaceId, agentId: 'agent-1', name: 'A chat', externalUserId });
  const chats = [];
  for (let created = 0; created < 250; created += 1) chats.push(await create(user ?? null));
  const exported: number[] = [];
  const services = { chatPages: stores.chats, chats: stores.chats, clock, messages: stores.messages };
  const files = { address: () => expect.unreachable() };
  for await (const [line] of exportChats({ ...services, files }, { workspaceId, externalUserId: user })) {
    exported.push(Number(line?.type === 'chat' && line.id));
    if (exported.length === 60) await stores.chats.delete(chats.slice(0, 50), clock.now().toISOString());
  }
  expect(exported).toEqual(chats.map(({ id }) => id));
});
