import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type {
  CallUsage,
  ModelCall,
  ReplyBudget,
  ReplyEnd,
  ReplyEndReason,
  ReservedCall,
} from '#domain/chats/agent-runtime.ts';
import { noUsage, unknownUsage } from '#domain/chats/message.ts';
import { ModelFailure } from '#domain/platform/failures.ts';
import { type ModelResponse, readModelResponse } from './model-response.ts';
import {
  type AgentSettings,
  type Emit,
  type PreparedAgent,
  prepareAgent,
  type Task,
} from './prepare-agent.ts';
import type { OfferedTool, ReplyUse } from './tools/agent-tool.ts';
import { failedUse, openToolCalls, type ToolEnd, type ToolSettings, useTool } from './tools/tool-calls.ts';

export type AgentRuntimeSettings = AgentSettings & ToolSettings;

type CallAgent = (
  task: Task,
  ...call: Parameters<ReplyUse['callAgent']>
) => ReturnType<ReplyUse['callAgent']>;

type ToolCalls = ReturnType<typeof openToolCalls>;

export class ReplyLoop {
  private readonly settings: AgentRuntimeSettings;
  private readonly task: Task;
  private readonly emit: Emit;
  private readonly callAgent: CallAgent;
  private readonly text = new ReplyText();
  /** Once a tool has handed over to the user, the next model call of this agent, perhaps a called one, is its last. */
  private handedOver = false;
  private isForcedToRespond = false;

  constructor(settings: AgentRuntimeSettings, task: Task, emit: Emit, callAgent: CallAgent) {
    this.settings = settings;
    this.task = task;
    this.emit = emit;
    this.callAgent = callAgent;
  }

  async run(lastCall: ReservedCall): Promise<ReplyEnd> {
    const agent = await prepareAgent(this.settings, this.task);
    const exchange: LanguageModelV4Prompt = [];
    for (let step = 1; ; step += 1) {
      const mustRespond = this.mustRespond(agent, step);
      if (mustRespond) lastCall.take();
      const calls = openToolCalls(agent.offered, this.emit, (...use) => this.useTool(...use));
      const response = await this.callModel(agent, exchange, mustRespond ? undefined : calls);
      // The calling agent continues, so the steps of a called agent must end first.
      if (response.finishReason === 'bytes' && !this.isReply) await calls.results();
      const end = this.endAfter(response, agent, { step, mustRespond });
      if (end !== undefined) {
        const formed = await this.inForm(agent, exchange, { response, end }, lastCall);
        return agent.isWithoutRejected() ? { ...formed, isWithoutRejected: true } : formed;
      }
      exchange.push(
        { role: 'assistant', content: response.content },
        { role: 'tool', content: await calls.results() },
      );
    }
  }

  private get isReply(): boolean {
    return this.task.agents.length === 1;
  }

  /** Whether the next model call must return text. If not, this takes the call from the budget. */
  private mustRespond({ maxSteps }: PreparedAgent, step: number): boolean {
    return (
      this.handedOver || this.isForcedToRespond || step === maxSteps || !this.task.budget.takeModelCall()
    );
  }

  /**
   * A call has no usage if `agent.stream` fails; that of an aborted call is unknown.
   * @param calls undefined if the model must return text
   */
  private async callModel(
    agent: PreparedAgent,
    exchange: LanguageModelV4Prompt,
    calls: ToolCalls | undefined,
  ): Promise<ModelResponse> {
    const callType = this.isReply ? 'chat' : 'consultant_call_agent';
    let call: ModelCall = { ...agent.call(), callType };
    let usage: CallUsage = noUsage;
    let isCalled = false;
    const onCall = (isNowCalled: boolean): void => {
      isCalled = isNowCalled;
      if (isCalled) call = { ...agent.call(), callType };
      this.emit(isCalled ? { type: 'call start', call } : { type: 'call end', call, usage });
    };
    try {
      const stream = await agent.stream(exchange, calls === undefined ? 'none' : 'auto', onCall);
      usage = unknownUsage;
      const response = await this.readResponse(stream, calls, agent.form !== undefined);
      usage = response.usage;
      return response;
    } catch (error) {
      if (this.task.signal.aborted && isCalled) usage = unknownUsage;
      throw error;
    } finally {
      this.emit({ type: 'call end', call, usage });
    }
  }

  /** With `agent.form`, the text is emitted only if it has that form. The model gets at most one repair. */
  private async inForm(
    agent: PreparedAgent,
    exchange: LanguageModelV4Prompt,
    { response, end }: { response: ModelResponse; end: ReplyEnd },
    lastCall?: ReservedCall,
  ): Promise<ReplyEnd> {
    if (agent.form === undefined) return end;
    if (end.incomplete !== null) {
      const most =
        end.reason === 'max-reply-bytes' ? `${formBytes} bytes` : `${agent.maxOutputTokens} tokens`;
      return cutShortBy(end.reason, `The reply reached its limit of ${most} before its JSON was complete`);
    }
    if (end.reason !== 'stop' && end.reason !== 'empty') return end;
    const { deltasOf, problemOfReply, repairRequest } = await import('#domain/chats/reply-form.ts');
    const text = textOf(response).trim();
    const problem = problemOfReply(agent.form, text);
    if (problem === undefined) {
      for (const delta of deltasOf(text)) this.emit(textDelta(delta));
      return completeReply;
    }
    const mayRepair = lastCall !== undefined && Buffer.byteLength(text) <= repairedBytes;
    if (!mayRepair || !(this.task.budget.takeModelCall() || lastCall.take()))
      return cutShortBy('invalid-reply', `The reply does not match the schema: ${problem}`);
    this.settings.onRetry(agent.call().model, 'invalid-reply');
    exchange.push(
      ...(text === '' ? [] : [{ role: 'assistant' as const, content: [{ type: 'text' as const, text }] }]),
      { role: 'user', content: [{ type: 'text', text: repairRequest(problem) }] },
    );
    const repaired = await this.callModel(agent, exchange, undefined);
    return this.inForm(agent, exchange, { response: repaired, end: this.endOfText(repaired, agent) });
  }

  private readResponse(
    stream: AsyncIterable<LanguageModelV4StreamPart>,
    calls: ToolCalls | undefined,
    isBuffered: boolean,
  ): Promise<ModelResponse> {
    const replyBytes = Math.min(this.task.budget.limits.replyBytes, isBuffered ? formBytes : Infinity);
    this.text.startParagraph();
    return readModelResponse(
      stream,
      { text: this.text.bytesLeft(replyBytes), other: replyBytes },
      {
        text: (delta) => this.emit(isBuffered ? { type: 'progress' } : textDelta(this.text.append(delta))),
        progress: () => this.emit({ type: 'progress' }),
        toolCall: (call) => calls?.start(call) ?? {},
      },
    );
  }

  private async useTool(tool: OfferedTool, input: unknown, callId: string): Promise<ToolEnd> {
    const { budget, caller } = this.task;
    const running = budget.startTool(caller);
    if (typeof running === 'string') {
      this.isForcedToRespond ||= running === 'toolUses';
      return failedUse(limitTexts[running](budget));
    }
    this.handedOver ||= tool.handsOver === true;
    const { chat, scope, attachments, agents, signal } = this.task;
    const callAgent: ReplyUse['callAgent'] = (...call) =>
      this.callAgent({ ...this.task, caller: running }, ...call);
    const use = { callId, chat, scope, attachments, agents, signal, callAgent };
    return useTool(tool, input, use, this.settings).finally(running.end);
  }

  private endAfter(
    response: ModelResponse,
    agent: PreparedAgent,
    { step, mustRespond }: { step: number; mustRespond: boolean },
  ): ReplyEnd | undefined {
    const { content, finishReason } = response;
    if (!content.some(({ type }) => type === 'tool-call')) return this.endOfText(response, agent);
    // Without a chat, the limit of tokens may come from the request itself.
    if (finishReason === 'length' && this.isReply && this.task.chat === null)
      return incompleteBy('max-output-tokens');
    if (!mustRespond) return undefined;
    if (this.handedOver) return completeReply;
    if (step === agent.maxSteps)
      return cutShortBy('max-steps', `The agent reached its limit of ${step} steps`);
    return this.isForcedToRespond
      ? cutShortBy('max-tool-uses', limitTexts.toolUses(this.task.budget))
      : cutShortBy('max-model-calls', limitTexts.modelCalls(this.task.budget));
  }

  /** @throws ModelFailure if the model has ended with an error or was interrupted */
  private endOfText({ finishReason }: ModelResponse, { maxOutputTokens }: PreparedAgent): ReplyEnd {
    switch (finishReason) {
      case 'bytes':
        return incompleteBy('max-reply-bytes');
      case 'length':
        return this.isReply
          ? incompleteBy('max-output-tokens')
          : cutShortBy('max-output-tokens', `The answer was cut at the limit of ${maxOutputTokens} tokens`);
      case 'content-filter':
        return cutShortBy('content-filter', 'The reply was cut by the content filter of the model');
      case 'error':
      case 'interrupted':
        throw new ModelFailure('failed', `The model ended its reply with the reason ${finishReason}`);
    }
    // A reply that hands over to the user needs no text.
    return this.text.isEmpty && !this.handedOver
      ? cutShortBy('empty', 'The model gave an empty reply')
      : completeReply;
  }
}

/** The check of a longer text would delay other replies of the process. */
const formBytes = 256 * 1024;

/** A repair of a longer text would be expensive. */
const repairedBytes = 32 * 1024;

const textDelta = (delta: string) => ({ type: 'response.output_text.delta' as const, delta });

const textOf = ({ content }: ModelResponse): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');

const completeReply: ReplyEnd = { reason: 'stop', cutShort: null, incomplete: null };

const incompleteBy = (reason: ReplyEndReason): ReplyEnd => ({
  reason,
  cutShort: null,
  incomplete: 'max_output_tokens',
});

export const cutShortBy = (reason: ReplyEndReason, cutShort: string): ReplyEnd => ({
  reason,
  cutShort,
  incomplete: null,
});

/** Both the model and clients read these texts. */
export const limitTexts = {
  bytes: ({ limits }: ReplyBudget) =>
    `The answer was longer than the ${limits.replyBytes} bytes that it may have`,
  modelCalls: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.modelCalls} calls of models`,
  toolUses: ({ limits }: ReplyBudget) =>
    `The reply has reached its limit of ${limits.toolUses} uses of tools: answer with what you have`,
  toolsAtOnce: ({ limits }: ReplyBudget) =>
    `At most ${limits.toolsAtOnce} tools may run at once in a reply: use fewer, or one after the other`,
} as const;

class ReplyText {
  private text = '';
  private bytes = 0;
  private isNewParagraph = false;

  get isEmpty(): boolean {
    return this.text === '';
  }

  startParagraph(): void {
    this.isNewParagraph = true;
  }

  append(delta: string): string {
    const gap = this.isNewParagraph && this.text !== '' && !/\s$/.test(this.text) ? '\n\n' : '';
    this.isNewParagraph = false;
    this.text += gap + delta;
    this.bytes += Buffer.byteLength(gap + delta);
    return gap + delta;
  }

  /** Keeps two bytes for the paragraph break. */
  bytesLeft(maxBytes: number): number {
    return Math.max(maxBytes - this.bytes - (this.text === '' ? 0 : 2), 0);
  }
}
