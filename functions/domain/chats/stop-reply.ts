import { noReplyInProgress, ServiceError } from '#contract/errors.ts';
import type { AwaitRateLimit } from '#domain/workspaces/rate-limits.ts';
import { batchLeasePrefix, type Chat, type Lease, responseIdOf } from './chat.ts';
import { type ChatOfUser, findChat } from './chats.ts';
import type { Services } from './services.ts';

type StopServices = Services<'chats' | 'clock'>;

/**
 * Milliseconds until the chat of a stopped reply is free if its function has died. A living function notices the stop
 * within a second, and then prolongs the lease.
 */
const leaseOfStopped = 3000;

/** Milliseconds that the response waits for the end of the reply, and milliseconds between two reads of the chat. */
const longestWait = 2000;
const waitInterval = 200;

/**
 * Asks the function that owns the chat to stop the reply, and waits up to two seconds for the end of the reply.
 * @returns the id of the stopped reply, and whether it has ended
 * @throws the errors of findChat, then `No reply is in progress for this chat`, then badRequest if the reply in
 *   progress belongs to a batch, or is not the given one
 */
export async function stopReply(
  services: StopServices & Services<'workspaces'>,
  input: ChatOfUser & { responseId: string | undefined },
  awaitRateLimit: AwaitRateLimit,
): Promise<{ responseId: string; hasEnded: boolean }> {
  const chat = await findChat(services, input);
  const lease = leaseToStop(chat, services.clock.now(), input.responseId);
  await awaitRateLimit();
  const until = services.clock.now().getTime() + leaseOfStopped;
  if (!(await services.chats.stopLease(chat, lease.id, until))) throw noReplyInProgress();
  return { responseId: responseIdOf(lease), hasEnded: await isReleased(services, chat, lease) };
}

function leaseToStop({ lease }: Chat, now: Date, responseId: string | undefined): Lease {
  if (lease === null || lease.until <= now.getTime()) throw noReplyInProgress();
  if (lease.id.startsWith(batchLeasePrefix))
    throw new ServiceError(
      'badRequest',
      'The reply in progress belongs to a batch: what a batch has started finishes normally',
    );
  if (responseId !== undefined && responseId !== responseIdOf(lease))
    throw new ServiceError('badRequest', 'Another reply than response_id is in progress for this chat');
  return lease;
}

async function isReleased({ chats, clock }: StopServices, chat: Chat, { id }: Lease): Promise<boolean> {
  const end = clock.now().getTime() + longestWait;
  do {
    await new Promise<void>((resolve) => clock.after(waitInterval, resolve));
    const current = await chats.get(chat.workspaceId, chat.id);
    if (current?.lease?.id !== id) return true;
  } while (clock.now().getTime() < end);
  return false;
}
