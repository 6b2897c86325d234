import type { AgentDefinition } from '#contract/agent.ts';
import { Mistakes } from '../failures.ts';
import { printError } from '../terminal.ts';
import { readJson } from './read-json.ts';

/** @throws Error if the file cannot be read or is not JSON; Mistakes */
export const readAgent = async (file: string, workspaceId: string): Promise<AgentDefinition> =>
  checkedAgent(file, workspaceId, await readJson(file));

/**
 * @param file the name of the file or agent, for the mistakes
 * @throws Mistakes
 */
export async function checkedAgent(
  file: string,
  workspaceId: string,
  input: unknown,
): Promise<AgentDefinition> {
  // A deferred import: most commands do not need it.
  const { checkAgent } = await import('#runtime/composition/check-agent.ts');
  const { definition, mistakes } = await checkAgent(workspaceId, input);
  const lines = [...mistakes.map((mistake) => `${file}: ${mistake}`), ...unlisted(file, definition)];
  if (lines.length > 0) throw new Mistakes(lines);
  return definition;
}

/**
 * For a saved agent: the stage may have changed since.
 * @param where names the agent, for the mistakes
 * @throws Mistakes
 */
export async function checkModels(where: string, definition: AgentDefinition): Promise<void> {
  const { modelMistakes } = await import('#runtime/composition/check-agent.ts');
  const mistakes = modelMistakes(definition).map((mistake) => `${where}: ${mistake}`);
  const lines = [...mistakes, ...unlisted(where, definition)];
  if (lines.length > 0) throw new Mistakes(lines);
}

/** What the target's roles may use. Undefined is unknown, so it is not checked. */
const listed: Partial<Record<Output, readonly string[] | undefined>> = {};

type Output = 'BedrockModels' | 'BedrockKnowledgeBases' | 'ToolFunctions';

export const useListed = (lists: typeof listed): void => void Object.assign(listed, lists);

const fields = new Map<string, [field: string, verb: string, output: Output]>([
  ['consultant_retrieve_context_source', ['knowledge_base_id', 'query', 'BedrockKnowledgeBases']],
  ['consultant_call_function', ['function', 'invoke', 'ToolFunctions']],
]);

function unlisted(where: string, { llm_model, unified_tools, meta }: AgentDefinition): string[] {
  const ofTools = unified_tools.flatMap(({ type, config }, index) => {
    const [field, verb, output] = fields.get(type) ?? ['', '', 'ToolFunctions'];
    const id = config?.[field];
    if (typeof id !== 'string') return [];
    return mistakesOf(`${where}: unified_tools[${index}].config.${field}`, id, verb, output);
  });
  const models = listed.BedrockModels?.map((id) => `bedrock:${id}`);
  const ofModels = [llm_model, ...(meta.fallback_models ?? [])].flatMap((model, index) => {
    const at = `${where}: ${index === 0 ? 'llm_model' : `meta.fallback_models[${index - 1}]`}`;
    return model.startsWith('bedrock:') ? mistakesOf(at, model, 'invoke', 'BedrockModels', models) : [];
  });
  return [...ofModels, ...ofTools];
}

/** Without a list, it only prints that the id is not checked. */
function mistakesOf(at: string, id: string, verb: string, output: Output, ids = listed[output]): string[] {
  if (ids === undefined) {
    const where = at.slice(0, at.lastIndexOf(': '));
    printError([`${where}: not checked whether roles may ${verb} ${id}: the target has no output ${output}`]);
    return [];
  }
  if (ids.includes(id)) return [];
  const known = ids.length === 0 ? 'it is empty' : `it contains ${ids.join(', ')}`;
  return [
    `${at} ${id} is not in the stage setting ${output.replace(/^./, (letter) => letter.toLowerCase())}, so no role may ${verb} it: ${known}. ` +
      'Add it to the stage in cdk.json and deploy, or restart the local run',
  ];
}
