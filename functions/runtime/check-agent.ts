import { findProvider } from '#agents/models/model-provider.ts';
import { offeredTools } from '#agents/tools/offered-tools.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import { agentTools } from './agent-tools.ts';
import { modelProviders } from './model-providers.ts';
import { agents } from './services.ts';

/** @throws Error naming the field when no model or tool stands behind what an agent's definition says */
export function checkAgent(definition: AgentDefinition): void {
  findProvider(modelProviders, definition.llm_model);
  offeredTools(agentTools({ agents }), definition);
}
