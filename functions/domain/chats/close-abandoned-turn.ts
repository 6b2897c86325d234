import { errorTable } from '#contract/errors.ts';
import { type Chat, isResumable, type Lease, responseIdIn, responseIdOf } from './chat.ts';
import { interrupted } from './gather-reply.ts';
import { type AssistantMessage, noUsage } from './message.ts';
import type { ChatServices, Services } from './services.ts';
import { storedText } from './stored-text.ts';

export interface CloseTurnServices extends Services<'chats' | 'clock' | 'replyEvents'> {
  messages: Pick<ChatServices['messages'], 'putAndRelease'>;
}

/**
 * Closes a turn that its function did not end: a user message without a reply gets a reply, with an error unless a client
 * had asked to stop it, and the chat lease is released. The reply has the stored text if it was resumable; otherwise it is
 * empty. Each write has the condition that the lease is still the given one. So several functions may close the same turn
 * concurrently, also with the function that owned it, and none touches a later turn.
 * @param reason error message of the reply, for clients. With another one than the default, the reply is empty.
 */
export async function closeAbandonedTurn(
  services: CloseTurnServices,
  chat: Chat,
  reason = interrupted,
): Promise<void> {
  const { lease } = chat;
  if (lease === null) return;
  const reply = { workspaceId: chat.workspaceId, chatId: chat.id, responseId: responseIdOf(lease) };
  const content = async () =>
    reason === interrupted && isResumable(lease) ? storedText(services, reply) : '';
  while (!(await closeOnce(services, chat, lease, { content, ...endOf(lease, reason) })));
}

/** @returns false if another function has stored the reply since the turn was read */
async function closeOnce(
  services: CloseTurnServices,
  chat: Chat,
  lease: Lease,
  { content, ...end }: { content: () => Promise<string> } & Pick<AssistantMessage, 'error' | 'incomplete'>,
): Promise<boolean> {
  const position = chat.messageCount + 2;
  const turn = await services.chats.openTurn(chat);
  if (!turn.user || turn.reply) {
    await services.chats.releaseLease(chat, lease.id, turn.user ? position : chat.messageCount);
    return true;
  }
  const outcome = await services.messages.putAndRelease(chat, lease.id, {
    ...{ role: 'assistant', position, content: await content() },
    createdAt: services.clock.now().toISOString(),
    ...{ agentVersionId: null, reasoningSteps: [], tokenUsage: noUsage },
    ...end,
    ...responseIdIn(lease),
  });
  return outcome !== 'position-taken';
}

const endOf = (lease: Lease, reason: string): Pick<AssistantMessage, 'error' | 'incomplete'> =>
  lease.isStopped
    ? { error: null, incomplete: 'stopped' }
    : { error: { code: errorTable.serverError.errorCode, message: reason }, incomplete: null };
