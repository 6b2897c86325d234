import { join } from 'node:path';
import { openBareStore } from './bare-store.ts';
import { endChild, startProgram } from './child-program.ts';
import { loadClientOf, type Target } from './load-client.ts';
import { pagesToSeed } from './seeded-pages.ts';
import type { StartedSubject, SubjectOptions } from './subject.ts';

const program = join(import.meta.dirname, 'bare-server.ts');

/** Starts the bare server, to which every figure is compared. */
export async function startBare(options: SubjectOptions): Promise<StartedSubject> {
  const start = async () => {
    const from = performance.now();
    const { child, ready } = await startProgram<{ port: number }>(program, { ...options });
    const target: Target = { baseUrl: `http://127.0.0.1:${ready.port}`, apiKey: 'bare', agentId: 'bare' };
    const client = loadClientOf(target);
    await client.readPage('/chats');
    client.close();
    return { child, target, seconds: (performance.now() - from) / 1000 };
  };
  let running = await start();
  return {
    firstStart: running.seconds,
    subject: {
      name: 'bare',
      get pid() {
        return running.child.pid ?? 0;
      },
      get target() {
        return running.target;
      },
      async seedPages() {
        const store = openBareStore(options.folder);
        const { total, chatId, chatIds, positions } = pagesToSeed;
        const at = new Date().toISOString();
        store.transact(() => {
          for (const id of chatIds) store.putChat.run(id, 'Seeded', at, id === chatId ? total : 0);
          for (const position of positions)
            store.addMessage.run(chatId, position, roleAt(position), `Message ${position}`, at);
        });
        store.close();
        return { total, chatId };
      },
      async restart() {
        await endChild(running.child);
        running = await start();
        return running.seconds;
      },
      close: () => endChild(running.child),
    },
  };
}

const roleAt = (position: number): string => (position % 2 === 1 ? 'user' : 'assistant');
