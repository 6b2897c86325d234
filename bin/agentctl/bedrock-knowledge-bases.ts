import type { AgentDefinition } from '#contract/agent.ts';

/** What the target's roles may query; undefined when it does not tell. */
let listed: readonly string[] | undefined;

/** @param ids undefined when the target is older than the list */
export function useKnowledgeBases(ids: readonly string[] | undefined): void {
  listed = ids;
}

/**
 * @param where names the file or agent
 * @throws Error when the target would not let a knowledge base be queried
 */
export function rejectUnlistedKnowledgeBases(where: string, { unified_tools }: AgentDefinition): void {
  for (const [index, { type, config }] of unified_tools.entries()) {
    const id = config?.knowledge_base_id;
    if (type !== 'consultant_retrieve_context_source' || typeof id !== 'string') continue;
    if (listed === undefined) {
      console.error(
        `${where}: not checked whether roles may query ${id}: the target is older than the output BedrockKnowledgeBases`,
      );
      continue;
    }
    if (listed.includes(id)) continue;
    const known = listed.length === 0 ? 'it is empty' : `it holds ${listed.join(', ')}`;
    throw new Error(
      `${where}: unified_tools[${index}].config.knowledge_base_id ${id} is not in the stage setting ` +
        `bedrockKnowledgeBases, so no role may query it: ${known}. Add it to the stage in cdk.json and deploy, or ` +
        'start the local run again',
    );
  }
}
