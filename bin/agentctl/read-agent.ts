import type { AgentDefinition } from '#contract/agent.ts';
import { Mistakes } from '../failures.ts';
import { unlistedKnowledgeBases } from './bedrock-knowledge-bases.ts';
import { unlistedModels } from './bedrock-models.ts';
import { readJson } from './read-json.ts';

/**
 * Reads an agent.json.
 * @throws Mistakes with a line for each mistake: the file, and the path of the field
 */
export const readAgent = async (file: string, workspaceId: string): Promise<AgentDefinition> =>
  checkedAgent(file, workspaceId, await readJson(file));

/** @throws Mistakes as `readAgent` does */
export async function checkedAgent(
  file: string,
  workspaceId: string,
  input: unknown,
): Promise<AgentDefinition> {
  // A deferred import: it loads the SDKs of the model providers, which no other command needs.
  const { checkAgent } = await import('#runtime/composition/check-agent.ts');
  const { definition, mistakes } = await checkAgent(workspaceId, input);
  const lines = [...mistakes.map((mistake) => `${file}: ${mistake}`), ...unlisted(file, definition)];
  if (lines.length > 0) throw new Mistakes(lines);
  return definition;
}

/**
 * For agents that were checked when they were saved: the list may have changed since.
 * @throws Mistakes if the target's roles may not use the model or a knowledge base of the agent
 */
export function rejectUnlisted(where: string, definition: AgentDefinition): void {
  const lines = unlisted(where, definition);
  if (lines.length > 0) throw new Mistakes(lines);
}

const unlisted = (where: string, definition: AgentDefinition): string[] => [
  ...unlistedModels(where, definition),
  ...unlistedKnowledgeBases(where, definition),
];
