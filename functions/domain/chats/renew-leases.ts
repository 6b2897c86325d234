import type { PlatformServices } from '#domain/platform/services.ts';
import { ReplyAborted } from './collect-reply.ts';
import { interrupted } from './gather-reply.ts';
import type { ChatServices } from './services.ts';

/**
 * Renews a lease at a third of its time until it is stopped, and ends the reply when the lease is lost.
 * @param renew false when the lease is no longer the holder's
 * @returns `settled` waits for a renewal that is under way: none may go on behind the function's end.
 */
export function renewLeases(
  services: Pick<ChatServices, 'replySettings'> & Pick<PlatformServices, 'clock' | 'log'>,
  renew: (until: number) => Promise<boolean>,
  stop: AbortController,
): { stop: () => void; finished: () => Promise<unknown> } {
  const { lease } = services.replySettings;
  const underWay = new Set<Promise<void>>();
  const renewOnce = async (): Promise<void> => {
    try {
      const buffered = await renew(services.clock.now().getTime() + lease);
      if (!buffered) stop.abort(new ReplyAborted('lost', interrupted));
    } catch (error) {
      // The next renewal makes up for a failed one; if all fail, the lease is found lost when the reply is stored.
      services.log.warn('A lease was not renewed', { error });
    }
  };
  const cancel = services.clock.every(lease / 3, () => {
    const renewal = renewOnce();
    underWay.add(renewal);
    renewal.finally(() => underWay.delete(renewal));
  });
  return { stop: cancel, finished: () => Promise.all(underWay) };
}
