import { ReplyAborted } from './collect-reply.ts';
import { interrupted } from './gather-reply.ts';
import type { Services } from './services.ts';

/**
 * Renews leases at every third of their time until it is stopped, and aborts the reply when they are lost.
 * @param renew false if this function no longer owns the leases
 * @returns `finished` waits for a renewal that is under way: Lambda freezes what runs after the function's end.
 */
export function renewLeases(
  services: Services<'clock' | 'log' | 'replySettings'>,
  renew: (until: number) => Promise<boolean>,
  stop: AbortController,
): { stop: () => void; finished: () => Promise<unknown> } {
  const { lease } = services.replySettings;
  const underWay = new Set<Promise<void>>();
  const renewOnce = async (): Promise<void> => {
    try {
      const isOwner = await renew(services.clock.now().getTime() + lease);
      if (!isOwner) stop.abort(new ReplyAborted('lease-lost', interrupted));
    } catch (error) {
      // The next renewal follows. If all fail, the write of the reply finds the lease lost.
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
