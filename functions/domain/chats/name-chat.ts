import type { StreamEventBody } from '#contract/events.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { ReplyBudget } from './reply-budget.ts';
import type { Services } from './services.ts';
import type { SentTurn } from './turn.ts';

type NameServices = Services<'agentRuntime' | 'chats' | 'clock' | 'log'>;

/** After the reply, the function waits for a title at most this long, milliseconds. */
const titleGrace = 2000;

/** A title for a new chat, made from its first message concurrently with the reply. */
export interface ChatTitle {
  /** Calls the model; further calls do nothing. */
  start(): void;
  /** Aborts the call; `start` then does nothing. */
  cancel(): void;
  /** Waits until the title is stored and emitted, or the grace time is over. */
  finish(): Promise<void>;
  /** Waits for a write of the title that was under way when the grace time ended. */
  written(): Promise<void>;
}

export function nameChat(
  services: NameServices,
  turn: SentTurn,
  budget: ReplyBudget,
  emit: (event: StreamEventBody) => void,
): ChatTitle {
  const abort = new AbortController();
  let writing: Promise<void> = Promise.resolve();
  let isStarted = false;
  return {
    start() {
      if (isStarted || !turn.makesTitle) return;
      isStarted = true;
      writing = makeTitle(services, turn, emit, { budget, signal: abort.signal });
    },
    cancel() {
      isStarted = true;
      abort.abort();
    },
    async finish() {
      const cancelGrace = services.clock.after(titleGrace, () => abort.abort());
      await untilAborted(writing, abort.signal).catch(() => undefined);
      cancelGrace();
    },
    written: () => writing,
  };
}

/** Never fails: the chat keeps its name if no title can be made. */
async function makeTitle(
  services: NameServices,
  turn: SentTurn,
  emit: (event: StreamEventBody) => void,
  given: { budget: ReplyBudget; signal: AbortSignal },
): Promise<void> {
  try {
    const name = await untilAborted(
      services.agentRuntime.title({ agent: turn.agent, message: turn.message, ...given }),
      given.signal,
    );
    if (name === undefined) return;
    if (await services.chats.setTitle(turn.chat, name, services.clock.now().toISOString()))
      emit({ type: 'response.chat.title.updated', name });
  } catch (error) {
    services.log.warn('The chat keeps its name: no title could be made', { chatId: turn.chat.id, error });
  }
}
