import { openBareStore } from './bare-store.ts';
import { startChildServer } from './child-server.ts';
import { type Server, secondsToResponse, seededPages } from './server.ts';

/** Starts the bare server, to which every figure is compared. */
export async function startBare(folder: string, model: string): Promise<Server> {
  const from = performance.now();
  const { url, pid, close } = await startChildServer('bare-server.ts', { folder, model });
  const target = { baseUrl: url, apiKey: 'bare', agentId: 'bare' };
  const startSeconds = await secondsToResponse(target, from);
  return { pid, target, startSeconds, close, seedPages: async () => seedPages(folder) };
}

function seedPages(folder: string): void {
  const store = openBareStore(folder);
  const { total, offsets, length } = seededPages;
  store.transact(() => {
    const at = new Date().toISOString();
    for (const offset of offsets)
      for (let index = 0; index < length; index += 1) {
        const [id, position] = [total - offset - index, offset + index + 1];
        store.putChat.run(id, 'Seeded', at, id === total ? total : 0);
        const role = position % 2 === 1 ? 'user' : 'assistant';
        store.addMessage.run(total, position, role, `Message ${position}`, at);
      }
  });
  store.close();
}
