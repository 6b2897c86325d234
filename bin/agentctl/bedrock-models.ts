import type { AgentDefinition } from '#contract/agent.ts';
import { printError } from '../terminal.ts';

/** The models that the target's roles may invoke; undefined if the target has no such list. */
let listed: readonly string[] | undefined;

/** @param models undefined if the target's version has no output BedrockModels */
export function useBedrockModels(models: readonly string[] | undefined): void {
  listed = models;
}

/**
 * What is wrong if the target's roles may not invoke the agent's model.
 * @param where names the file or agent in the message
 */
export function unlistedModels(where: string, { llm_model: model }: AgentDefinition): string[] {
  if (!model.startsWith('bedrock:')) return [];
  if (listed === undefined) {
    printError([
      `${where}: not checked whether roles may invoke ${model}: the target has no output BedrockModels`,
    ]);
    return [];
  }
  if (listed.includes(model.slice('bedrock:'.length))) return [];
  const known =
    listed.length === 0 ? 'it is empty' : `it contains ${listed.map((id) => `bedrock:${id}`).join(', ')}`;
  return [
    `${where}: llm_model ${model} is not in the stage setting bedrockModels, so no role may invoke it: ${known}. ` +
      'Add it to the stage in cdk.json and deploy, or restart the local run',
  ];
}
