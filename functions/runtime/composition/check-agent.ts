import { findProvider } from '#agents/models/model-provider.ts';
import { offeredTools } from '#agents/tools/offered-tools.ts';
import type { AgentDefinition } from '#contract/agent.ts';
import { agentTools } from './agent-tools.ts';
import { modelProviders } from './model-providers.ts';
import { agents, attachments, knowledge, knowledgeBase, messages, webPages, webSearch } from './services.ts';

/**
 * @throws Error that names the field, if the definition names an unknown model provider or tool, or an invalid config
 */
export async function checkAgent(workspaceId: string, definition: AgentDefinition): Promise<void> {
  findProvider(modelProviders, definition.llm_model);
  for (const { name, tool, config } of offeredTools(
    agentTools({ agents, attachments, knowledge, knowledgeBase, messages, webPages, webSearch }),
    definition,
  ))
    try {
      await tool.checkConfig?.(config, workspaceId);
    } catch (error) {
      throw new Error(`unified_tools, ${name}: config.${(error as Error).message}`, { cause: error });
    }
}
