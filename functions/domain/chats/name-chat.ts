import type { StreamEventBody } from '#contract/events.ts';
import type { Cancel } from '#domain/platform/clock.ts';
import type { PlatformServices } from '#domain/platform/services.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import type { ReplyBudget } from './reply-budget.ts';
import type { ChatServices } from './services.ts';
import type { Turn } from './turn.ts';

type NameServices = Pick<ChatServices, 'agentRuntime' | 'chats'> &
  Pick<PlatformServices, 'clock' | 'log' | 'processLoad'>;

/**
 * A process that has computed for a larger share of the time until the first text is busy: the first texts of other
 * replies come before the title. In three pairs of runs with 200 replies at once, where every title waited, 95 % had
 * their first text 0.70 to 0.81 times as late. A title that waits without need makes short replies end later.
 */
const busyShare = 0.9;

/** How long a title waits in a busy process, in milliseconds. */
const titleDelay = 500;

/** After the reply, the function waits for a title at most this long, milliseconds. */
const titleGrace = 2000;

/** A title for a new chat, made from its first message concurrently with the reply. */
export interface ChatTitle {
  /** Calls the model, after a delay if the process is busy. Further calls do nothing. */
  start(): void;
  /** Aborts the call; `start` then does nothing. */
  cancel(): void;
  /** Ends the delay, and waits until the title is stored and emitted, or the grace time is over. */
  finish(): Promise<void>;
  /** Waits for a write of the title that was under way when the grace time ended. */
  written(): Promise<void>;
}

export function nameChat(
  services: NameServices,
  turn: Turn,
  budget: ReplyBudget,
  emit: (event: StreamEventBody) => void,
): ChatTitle {
  const abort = new AbortController();
  const busy = services.processLoad.measure();
  let isStarted = false;
  let cancelDelay: Cancel = () => undefined;
  let writing: Promise<void> | undefined;
  const callModel = (): Promise<void> => {
    writing ??= makeTitle(services, turn, { budget, emit, signal: abort.signal });
    return writing;
  };
  return {
    start() {
      if (isStarted || !turn.makesTitle) return;
      isStarted = true;
      if (busy() <= busyShare) void callModel();
      else cancelDelay = services.clock.after(titleDelay, () => void callModel());
    },
    cancel() {
      isStarted = true;
      cancelDelay();
      abort.abort();
    },
    async finish() {
      cancelDelay();
      if (!isStarted || abort.signal.aborted) return;
      const cancelGrace = services.clock.after(titleGrace, () => abort.abort());
      await untilAborted(callModel(), abort.signal).catch(() => undefined);
      cancelGrace();
    },
    written: async () => writing,
  };
}

/** Never fails: the chat keeps its name if no title can be made. */
async function makeTitle(
  services: NameServices,
  turn: Turn,
  {
    budget,
    emit,
    signal,
  }: { budget: ReplyBudget; emit: (event: StreamEventBody) => void; signal: AbortSignal },
): Promise<void> {
  try {
    const name = await untilAborted(
      services.agentRuntime.title({ agent: turn.agent, message: turn.message, budget, signal }),
      signal,
    );
    if (name === undefined) return;
    if (await services.chats.rename(turn.chat, name, services.clock.now().toISOString()))
      emit({ type: 'response.chat.title.updated', name });
  } catch (error) {
    services.log.warn('The chat keeps its name: no title could be made', { chatId: turn.chat.id, error });
  }
}
