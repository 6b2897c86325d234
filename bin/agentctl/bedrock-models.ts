/** What the target's roles may invoke; undefined when it does not tell. */
let listed: readonly string[] | undefined;

/** @param models undefined when the target is older than the list */
export function useBedrockModels(models: readonly string[] | undefined): void {
  listed = models;
}

/**
 * @param where names the file or agent that has the model
 * @throws Error when the target would not let the model be invoked
 */
export function rejectUnlistedModel(where: string, llmModel: string): void {
  if (!llmModel.startsWith('bedrock:')) return;
  if (listed === undefined) {
    console.error(
      `${where}: not checked whether roles may invoke ${llmModel}: the target is older than the output BedrockModels`,
    );
    return;
  }
  if (listed.includes(llmModel.slice('bedrock:'.length))) return;
  const known =
    listed.length === 0 ? 'it is empty' : `it holds ${listed.map((model) => `bedrock:${model}`).join(', ')}`;
  throw new Error(
    `${where}: llm_model ${llmModel} is not in the stage setting bedrockModels, so no role may invoke it: ${known}. ` +
      'Add it to the stage in cdk.json and deploy, or start the local run again',
  );
}
