import type { StreamEventBody } from '#contract/events.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { ReplyBudget } from './reply-budget.ts';
import type { ChatServices } from './services.ts';
import type { Turn } from './turn.ts';

/**
 * Gives a chat a title made from its first message, beside the reply. A chat keeps its name when no title can be made.
 * @param giveUp stops waiting for the model; a title that is being written by then is still written and told.
 */
export const nameChat =
  (services: Pick<ChatServices, 'agentRuntime' | 'chats'> & Pick<PlatformServices, 'clock' | 'log'>) =>
  async (
    turn: Turn,
    budget: ReplyBudget,
    emit: (event: StreamEventBody) => void,
    abort: AbortSignal,
  ): Promise<void> => {
    if (!turn.makesTitle) return;
    try {
      const name = await untilAborted(
        services.agentRuntime.title({ agent: turn.agent, message: turn.message, budget, signal: abort }),
        abort,
      );
      if (name === undefined) return;
      await services.chats.rename(turn.chat, name, services.clock.now().toISOString());
      emit({ type: 'response.chat.title.updated', name });
    } catch (error) {
      services.log.warn('The chat keeps its name: no title could be made', { chatId: turn.chat.id, error });
    }
  };
