import { errorTable } from '#contract/errors.ts';
import type { StreamEventBody } from '#contract/events.ts';
import type { ReasoningStep, ReplyError, TokenUsage } from '#contract/message.ts';
import { ModelFailure, modelFailureTexts } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import {
  type Cancel,
  type Clock,
  type CountedCall,
  type FailureOfModel,
  sumOf,
} from '#domain/platform/services.ts';
import {
  type CallUsage,
  countedCall,
  type ModelCall,
  ReplyBudget,
  type ReplyEndReason,
  type ReplyPart,
  type ReplyRequest,
  type StepEnd,
} from './agent-runtime.ts';
import { type Incomplete, noUsage, unknownUsage } from './message.ts';
import type { Services } from './services.ts';

export interface Reply {
  content: string;
  error: ReplyError | null;
  incomplete: Incomplete | null;
  /**
   * `turn`: the provider has rejected this turn, probably for its content. `earlier-turns`: the provider accepted this
   * turn only without the earlier turns that it had rejected.
   */
  rejected: 'turn' | 'earlier-turns' | null;
  usage: TokenUsage;
  reasoningSteps: ReasoningStep[];
  /** The model calls that have used tokens, or may have. The usage of the reply is their sum. */
  calls: CountedCall[];
  /** The model of the last call of the reply's own agent in `calls`. */
  model?: string;
}

export const stopped = 'The reply was stopped';

export const interrupted = 'The reply was interrupted';

export type EmitEvent = (event: StreamEventBody) => void;

function gatherReply(clock: Clock, emit: EmitEvent) {
  const reply: Reply = {
    content: '',
    error: null,
    incomplete: null,
    rejected: null,
    usage: noUsage,
    reasoningSteps: [],
    calls: [],
  };
  const openCalls = new Set<ModelCall>();
  const countCall = (call: ModelCall, usage: CallUsage): void => {
    if (usage.total_calls === 0) return;
    reply.usage = sumOf(reply.usage, usage);
    if (call.callType === 'chat') reply.model = call.model;
    reply.calls.push(countedCall(call, usage));
  };
  const now = () => clock.now().toISOString();
  const endStep = ({ id, result, token_usage }: StepEnd): void => {
    const step = reply.reasoningSteps.find((candidate) => candidate.id === id);
    if (step === undefined || step.ended_at !== null) return;
    const timestamp = now();
    Object.assign(step, { result, token_usage, ended_at: timestamp });
    emit({
      type: 'response.reasoning_step.end',
      step: { id, type: step.type, result, timestamp, token_usage },
    });
  };
  return {
    reply,
    collect(part: ReplyPart): void {
      switch (part.type) {
        case 'response.output_text.delta':
          reply.content += part.delta;
          emit(part);
          break;
        case 'call start':
          openCalls.add(part.call);
          break;
        case 'call end':
          openCalls.delete(part.call);
          countCall(part.call, part.usage);
          break;
        case 'response.reasoning_step.start': {
          const timestamp = now();
          const { id, type, content, args } = part.step;
          reply.reasoningSteps.push({
            ...{ id, type, content, args, result: null, started_at: timestamp, ended_at: null },
            token_usage: noUsage,
          });
          emit({ type: part.type, step: { id, content, type, args, timestamp } });
          break;
        }
        case 'response.reasoning_step.end':
          endStep(part.step);
      }
    },
    interrupt(reason: string): void {
      for (const call of openCalls) countCall(call, unknownUsage);
      openCalls.clear();
      const result = { success: false, data: { message: reason } };
      for (const { id, token_usage } of reply.reasoningSteps) endStep({ id, result, token_usage });
    },
  };
}

/**
 * Clients may get the message.
 * - `lease-lost`: for example, another function owns the chat now.
 * - `max-length`: the reply has ended at its maximum length, but its tools may still run.
 * - `stopped-by-client`: the reply ends with its text so far, and without an error.
 */
export class ReplyAborted extends Error {
  override readonly name = 'ReplyAborted';
  readonly kind: 'idle-timeout' | 'deadline' | 'lease-lost' | 'max-length' | 'shutdown' | 'stopped-by-client';

  constructor(kind: ReplyAborted['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface CollectedReply {
  reply: Reply;
  /** Either `error` or `reason` is undefined. */
  error: unknown;
  reason: ReplyEndReason | undefined;
  /** Resolves when `AgentRuntime.reply` has ended: after an abort, perhaps a while later. Never rejects. */
  modelEnded: Promise<void>;
}

export const failure = (message: string): ReplyError => ({ code: errorTable.serverError.errorCode, message });

/**
 * An error that ends the reply is returned, not thrown.
 * @param stop aborts the reply; this function may abort it too
 * @param deadline milliseconds that the reply may take in all
 */
export async function collectReply(
  services: Services<'agentRuntime' | 'clock' | 'log' | 'meter' | 'replySettings'>,
  request: Omit<ReplyRequest, 'signal'>,
  { emit, stop, deadline }: { emit: EmitEvent; stop: AbortController; deadline: number },
): Promise<CollectedReply> {
  const { streamTimeout } = services.replySettings;
  let cancelWatch: Cancel | undefined;
  const watch = (): void => {
    cancelWatch?.();
    cancelWatch = services.clock.after(streamTimeout, () =>
      stop.abort(new ReplyAborted('idle-timeout', 'Stream timed out')),
    );
  };
  const cancelDeadline = services.clock.after(deadline, () =>
    stop.abort(
      new ReplyAborted('deadline', `The reply took longer than ${Math.round(deadline / 1000)} seconds`),
    ),
  );
  const gathered = gatherReply(services.clock, emit);
  const work = services.agentRuntime.reply({ ...request, signal: stop.signal }, (part) => {
    if (stop.signal.aborted) return;
    gathered.collect(part);
    // The idle timeout starts with the first call: the preparation of files before it is no silence of the model.
    // Further starts and ends of calls do not restart it.
    const isCall = part.type === 'call start' || part.type === 'call end';
    if (!isCall || cancelWatch === undefined) watch();
  });
  const modelEnded = work.then(
    () => undefined,
    () => undefined,
  );
  try {
    const { reason, cutShort, incomplete, isWithoutRejected } = await untilAborted(work, stop.signal);
    if (cutShort !== null) gathered.reply.error = failure(cutShort);
    if (reason === 'content-filter') gathered.reply.rejected = 'turn';
    else if (isWithoutRejected) gathered.reply.rejected = 'earlier-turns';
    if (incomplete !== null) {
      gathered.reply.incomplete = incomplete;
      // Tools that the model has called may still run.
      gathered.interrupt(interrupted);
      stop.abort(new ReplyAborted('max-length', 'The reply is long enough'));
    }
    return { reply: gathered.reply, error: undefined, reason, modelEnded };
  } catch (thrown) {
    const error = stop.signal.aborted ? stop.signal.reason : thrown;
    endEarly(services, request, gathered, error);
    stop.abort(error);
    return { reply: gathered.reply, error, reason: undefined, modelEnded };
  } finally {
    services.meter.replied(gathered.reply);
    cancelWatch?.();
    cancelDeadline();
  }
}

function endEarly(
  { log, meter }: Services<'log' | 'meter'>,
  { chat, agent }: Omit<ReplyRequest, 'signal'>,
  { reply, interrupt }: ReturnType<typeof gatherReply>,
  error: unknown,
): void {
  if (error instanceof ReplyAborted && error.kind === 'stopped-by-client') {
    reply.incomplete = 'stopped';
    interrupt(error.message);
    return;
  }
  const level = error instanceof ReplyAborted && error.kind === 'lease-lost' ? 'warn' : 'error';
  log[level]('A reply was not completed', { chatId: chat?.id, agentId: agent.agentId, error });
  const kind = failureOf(error);
  if (kind !== undefined) meter.modelFailed(agent.definition.llm_model, kind);
  reply.error = failure(textFor(error));
  if (error instanceof ModelFailure && error.isOfContent) reply.rejected = 'turn';
  interrupt(interrupted);
}

/** Also true for a reply that fails at a limit, such as that of its steps, at the idle timeout or at the deadline. */
export const isFailedByModel = ({ reply, error }: Pick<CollectedReply, 'reply' | 'error'>): boolean =>
  error === undefined ? reply.error !== null : failureOf(error) !== undefined;

const slowness: Partial<Record<ReplyAborted['kind'], FailureOfModel>> = {
  'idle-timeout': 'stalled',
  deadline: 'slow',
};

function failureOf(error: unknown): FailureOfModel | undefined {
  if (error instanceof ModelFailure) return error.kind;
  return error instanceof ReplyAborted ? slowness[error.kind] : undefined;
}

function textFor(error: unknown): string {
  if (error instanceof ReplyAborted) return error.message;
  return error instanceof ModelFailure ? modelFailureTexts[error.kind] : 'The reply could not be completed';
}

export interface RunningReply {
  budget: ReplyBudget;
  /** Never rejects. */
  completed: Promise<CollectedReply>;
  forwardTo(emit: EmitEvent): void;
  /** Aborts with the kind `lease-lost`. Resolves like `CollectedReply.modelEnded`. */
  abort(): Promise<void>;
  stop: AbortController;
}

/**
 * The user message may not be stored yet, so the events are buffered until `forwardTo` is called.
 * @param deadline milliseconds that the reply may take in all
 */
export function startReply(
  services: Parameters<typeof collectReply>[0],
  request: Omit<ReplyRequest, 'budget' | 'signal'>,
  deadline: number,
): RunningReply {
  const stop = new AbortController();
  const budget = new ReplyBudget(services.replySettings.limits);
  const buffered: StreamEventBody[] = [];
  let emit: EmitEvent = (event) => void buffered.push(event);
  const completed = collectReply(
    services,
    { ...request, budget },
    { emit: (event) => emit(event), stop, deadline },
  );
  return {
    budget,
    completed,
    forwardTo(listener) {
      for (const event of buffered.splice(0)) listener(event);
      emit = listener;
    },
    async abort() {
      stop.abort(new ReplyAborted('lease-lost', interrupted));
      const { modelEnded } = await completed;
      await modelEnded;
    },
    stop,
  };
}
