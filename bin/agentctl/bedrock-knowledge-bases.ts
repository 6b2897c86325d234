import type { AgentDefinition } from '#contract/agent.ts';
import { printError } from '../terminal.ts';

/** The ids of the knowledge bases that the target's roles may query; undefined if the target has no such list. */
let listed: readonly string[] | undefined;

/** @param ids undefined if the target's version has no output BedrockKnowledgeBases */
export function useKnowledgeBases(ids: readonly string[] | undefined): void {
  listed = ids;
}

/**
 * What is wrong if the target's roles may not query a knowledge base of the agent.
 * @param where names the file or agent in the message
 */
export function unlistedKnowledgeBases(where: string, { unified_tools }: AgentDefinition): string[] {
  return unified_tools.flatMap(({ type, config }, index) => {
    const id = config?.knowledge_base_id;
    if (type !== 'consultant_retrieve_context_source' || typeof id !== 'string') return [];
    if (listed === undefined) {
      printError([
        `${where}: not checked whether roles may query ${id}: the target has no output BedrockKnowledgeBases`,
      ]);
      return [];
    }
    if (listed.includes(id)) return [];
    const known = listed.length === 0 ? 'it is empty' : `it contains ${listed.join(', ')}`;
    return [
      `${where}: unified_tools[${index}].config.knowledge_base_id ${id} is not in the stage setting ` +
        `bedrockKnowledgeBases, so no role may query it: ${known}. Add it to the stage in cdk.json and deploy, or ` +
        'restart the local run',
    ];
  });
}
