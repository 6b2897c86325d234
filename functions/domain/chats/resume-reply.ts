import { noStreamToResume } from '#contract/errors.ts';
import { allEnded } from '#domain/platform/all-ended.ts';
import { leaseIdOf } from './chat.ts';
import { type ChatOfUser, findChat } from './find-chat.ts';
import { followReply } from './follow-reply.ts';
import type { Services } from './services.ts';

/**
 * The rest of a resumable reply, as its stream.
 * @throws clientNotAllowed, `Chat not found`, notFound for a reply that is unknown, not resumable, or older than an hour
 */
export async function resumeReply(
  services: Services<'chats' | 'clock' | 'replyEvents' | 'workspaces'>,
  input: ChatOfUser & { responseId: string; startingAfter: number | undefined },
): Promise<AsyncGenerator<string>> {
  const { workspaceId, chatId, responseId } = input;
  const reply = { workspaceId, chatId, responseId };
  const hasReply = () => services.replyEvents.hasReply(reply, services.clock.now());
  const [chat, hasEvents] = await allEnded([findChat(services, input), hasReply()]);
  const leaseId = leaseIdOf(responseId);
  // A client may come back before the first event is stored, which is before the lease is released.
  const isRunning = leaseId !== undefined && chat.lease?.id === leaseId;
  if (!hasEvents && !isRunning && !(await hasReply())) throw noStreamToResume();
  return followReply(services, reply, input.startingAfter ?? -1);
}
