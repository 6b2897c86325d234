import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import {
  type AgentRuntime,
  type CallUsage,
  countedCall,
  type ReplyEnd,
} from '#domain/chats/agent-runtime.ts';
import { noUsage, unknownUsage } from '#domain/chats/message.ts';
import { ModelFailure, modelFailureTexts } from '#domain/platform/failures.ts';
import { sumOf } from '#domain/platform/services.ts';
import { findProvider } from './models/model-provider.ts';
import type { Emit, Task } from './prepare-agent.ts';
import { type AgentRuntimeSettings, cutShortBy, limitTexts, ReplyLoop } from './reply-loop.ts';
import { namedModel } from './request-model.ts';
import { titleOf } from './title.ts';
import { ReplyScope, ToolFailure } from './tools/agent-tool.ts';

export function aiAgentRuntime(settings: AgentRuntimeSettings): AgentRuntime {
  return {
    reply({ agent, ...request }, emit) {
      const scope = new ReplyScope();
      const task = { ...request, agents: [agent] as const, caller: undefined, scope };
      return reply(settings, task, emit).finally(() => scope.close());
    },

    async title({ agent, message, budget, signal, onCall }) {
      const { llm_model: modelName } = agent.definition;
      const { provider } = findProvider(settings.providers, modelName);
      if (provider.title !== undefined) return provider.title(message);
      if (!budget.takeModelCall()) return undefined;
      const { model } = namedModel(settings, modelName, budget);
      const count = (usage: CallUsage): void =>
        onCall(countedCall({ model: modelName, callType: 'title' }, usage));
      const { title, usage } = await titleOf(model, message, signal, (isCalled) =>
        isCalled ? count(unknownUsage) : onCall(undefined),
      );
      count(usage);
      return title;
    },
  };
}

async function reply(settings: AgentRuntimeSettings, task: Task, emit: Emit): Promise<ReplyEnd> {
  const lastCall = task.budget.reserveModelCall();
  if (lastCall === undefined) return cutShortBy('max-model-calls', limitTexts.modelCalls(task.budget));
  const loop = new ReplyLoop(settings, task, emit, (caller, agent, message, signal) =>
    callAgent(settings, { ...caller, message, signal }, agent, emit),
  );
  try {
    return await loop.run(lastCall);
  } finally {
    lastCall.release();
  }
}

/** @throws ToolFailure after a ModelFailure, and if the reply of the called agent is cut short or incomplete */
async function callAgent(
  settings: AgentRuntimeSettings,
  task: Task,
  agent: AgentVersion,
  emit: Emit,
): Promise<{ text: string; usage: TokenUsage }> {
  let text = '';
  let usage = noUsage;
  const listen: Emit = (part) => {
    if (part.type === 'response.output_text.delta') text += part.delta;
    else emit(part);
    if (part.type === 'call end') usage = sumOf(usage, part.usage);
  };
  try {
    const { cutShort, incomplete } = await reply(
      settings,
      {
        ...task,
        ...{ history: [], attachments: [], parts: undefined, sampling: undefined },
        agents: [...task.agents, agent] as Task['agents'],
      },
      listen,
    );
    if (cutShort !== null) throw new ToolFailure(cutShort, { usage });
    if (incomplete !== null) throw new ToolFailure(limitTexts.bytes(task.budget), { usage });
    return { text, usage };
  } catch (error) {
    if (error instanceof ModelFailure)
      throw new ToolFailure(modelFailureTexts[error.kind], { usage, cause: error });
    throw error;
  }
}
