import type { TokenUsage } from '#contract/message.ts';
import type { StepResult } from '#domain/chats/agent-runtime.ts';
import { noUsage } from '#domain/chats/message.ts';
import type { Clock } from '#domain/platform/clock.ts';
import { untilAborted } from '#domain/platform/until-aborted.ts';
import { wellFormed } from '#domain/platform/well-formed.ts';
import { ToolFailure, type ToolUse } from './agent-tool.ts';
import type { OfferedTool } from './offered-tools.ts';

export interface ToolSettings {
  clock: Pick<Clock, 'after'>;
  /** Timeout of one tool use, in milliseconds. */
  toolTimeout: number;
  /** Called with each error that is no ToolFailure: neither the model nor the client learns of it. */
  onToolError: (tool: string, error: unknown) => void;
}

/** The outcome of one tool use. */
export interface ToolEnd {
  result: StepResult;
  usage: TokenUsage;
}

/**
 * Runs a tool. An error of the tool, or its timeout, becomes a failed result.
 * @param settings.toolTimeout in milliseconds
 * @throws only the signal's reason, if the reply itself is aborted
 */
export async function useTool(
  { tool }: OfferedTool,
  input: unknown,
  use: ToolUse<unknown>,
  { clock, toolTimeout, onToolError }: ToolSettings,
): Promise<ToolEnd> {
  const timeout = new AbortController();
  const cancel = clock.after(toolTimeout, () => timeout.abort());
  const signal = AbortSignal.any([use.signal, timeout.signal]);
  try {
    const { data, usage } = await untilAborted(tool.run(input, { ...use, signal }), signal);
    return { result: { success: true, data: wellFormed(data) }, usage: usage ?? noUsage };
  } catch (error) {
    use.signal.throwIfAborted();
    const isKnown = error instanceof ToolFailure;
    const usage = (isKnown && error.usage) || noUsage;
    if (timeout.signal.aborted) return failedUse(`It took longer than ${toolTimeout / 1000} seconds`, usage);
    if (!isKnown) onToolError(tool.type, error);
    return failedUse(isKnown ? error.message : 'It failed', usage);
  } finally {
    cancel();
  }
}

export const failedUse = (message: string, usage: TokenUsage = noUsage): ToolEnd => ({
  result: { success: false, data: { message: message.toWellFormed() } },
  usage,
});
