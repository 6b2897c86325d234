import { printError } from '../terminal.ts';

/** The models that the target's roles may invoke; undefined if the target has no such list. */
let listed: readonly string[] | undefined;

/** @param models undefined if the target's version has no output BedrockModels */
export function useBedrockModels(models: readonly string[] | undefined): void {
  listed = models;
}

/**
 * @param where names the file or agent in the message
 * @throws Error if the target's roles may not invoke the model
 */
export function rejectUnlistedModel(where: string, llmModel: string): void {
  if (!llmModel.startsWith('bedrock:')) return;
  if (listed === undefined) {
    printError([
      `${where}: not checked whether roles may invoke ${llmModel}: the target has no output BedrockModels`,
    ]);
    return;
  }
  if (listed.includes(llmModel.slice('bedrock:'.length))) return;
  const known =
    listed.length === 0
      ? 'it is empty'
      : `it contains ${listed.map((model) => `bedrock:${model}`).join(', ')}`;
  throw new Error(
    `${where}: llm_model ${llmModel} is not in the stage setting bedrockModels, so no role may invoke it: ${known}. ` +
      'Add it to the stage in cdk.json and deploy, or restart the local run',
  );
}
