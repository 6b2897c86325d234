import { allEnded } from '#domain/platform/promises.ts';
import type { Cancel, PlatformServices } from '#domain/platform/services.ts';
import type { Chat, ChatStore } from './chat.ts';

export interface StopWatch {
  /**
   * Watches a chat under its lease.
   * @param onStop called at most once, when a client has asked to stop the reply, or the chat was deleted
   * @returns a function that ends the watch, and waits for a read in progress: Lambda freezes what runs after the end
   *   of the handler
   */
  watch(chat: Chat, leaseId: string, onStop: () => void): () => Promise<unknown>;
}

const watchInterval = 1000;

const timeToStore = 10_000;

/**
 * Reads all watched chats about once a second. When it finds a stop, it also sets the end of the chat lease, to
 * `timeToStore` after the read.
 * @param services.clock its timers run outside of the context of the request that set them
 */
export function watchStops(
  services: { chats: Pick<ChatStore, 'get' | 'acknowledgeStop'> } & Pick<PlatformServices, 'clock' | 'log'>,
): StopWatch {
  const watched = new Map<string, { chat: Chat; onStop: () => void }>();
  let cancel: Cancel | undefined;
  let reading: Promise<unknown> | undefined;

  async function readOne(
    leaseId: string,
    { chat, onStop }: { chat: Chat; onStop: () => void },
  ): Promise<void> {
    const current = await services.chats.get(chat.workspaceId, chat.id);
    const isStopped = current?.lease?.id === leaseId && current.lease.isStopped === true;
    if ((current !== undefined && !isStopped) || !watched.delete(leaseId)) return;
    onStop();
    if (isStopped)
      await services.chats.acknowledgeStop(chat, leaseId, services.clock.now().getTime() + timeToStore);
  }

  async function readAll(): Promise<void> {
    try {
      await allEnded([...watched].map(([leaseId, each]) => readOne(leaseId, each)));
    } catch (error) {
      services.log.warn('Whether replies are to be stopped was not read', { error });
    }
    reading = undefined;
  }

  return {
    watch(chat, leaseId, onStop) {
      watched.set(leaseId, { chat, onStop });
      cancel ??= services.clock.every(watchInterval, () => {
        reading ??= readAll();
      });
      return async () => {
        watched.delete(leaseId);
        if (watched.size === 0) {
          cancel?.();
          cancel = undefined;
        }
        await reading;
      };
    },
  };
}
