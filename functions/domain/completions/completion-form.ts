import { type ChatCompletionRequest, invalidParameter } from '#contract/openai.ts';
import { responseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { requestedForm } from '#domain/chats/agent-runtime.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';

/**
 * A function of the client that `tool_choice` forces. Its schema becomes the form of the reply. `formOfCompletion`
 * checks the name, the description and the schema.
 */
export interface ForcedTool {
  /** Empty if the client has sent no name, or one that is not a string. */
  name: string;
  description: string | undefined;
  schema: object;
  /** Whether `tool_choice` names it; otherwise, it only requires some tool. */
  isNamed: boolean;
}

export const ownTools = 'is not supported: agents bring their own tools, which run here';

const fieldsOf = (value: unknown): Record<string, unknown> => Object(value) as Record<string, unknown>;

/**
 * Undefined for a request without tools.
 * @throws OpenAiError for any other use of tools than one function that must be called; `formOfCompletion` rejects a
 *   function without a name
 */
export function forcedTool({ tools = [], tool_choice }: ChatCompletionRequest): ForcedTool | undefined {
  if (tools.length === 0) return undefined;
  const [tool] = tools.map(fieldsOf);
  const { name, description, parameters = {} } = fieldsOf(tool?.function);
  const choice = fieldsOf(tool_choice);
  const isNamed = fieldsOf(choice.function).name === name;
  const isRequired = [tool_choice, fieldsOf(choice.allowed_tools).mode].includes('required');
  if (tools.length > 1 || tool?.type !== 'function' || !(isNamed || isRequired))
    throw invalidParameter(
      'tools',
      `${ownTools}; one function that tool_choice forces is a form of the reply`,
    );
  const text = typeof name === 'string' ? name : '';
  // LangChain for Python sends an empty description for a class that has none.
  const about = (typeof description === 'string' && description) || undefined;
  return { name: text, description: about, schema: fieldsOf(parameters), isNamed };
}

/**
 * Undefined for plain text.
 * @throws OpenAiError for a wrong parameter
 */
export async function formOfCompletion(
  { response_format: format }: ChatCompletionRequest,
  tool: ForcedTool | undefined,
  agent: AgentVersion,
): Promise<ReplyForm | undefined> {
  if (tool === undefined) return requestedForm(format, agent, invalidParameter);
  if (format !== undefined && format.type !== 'text')
    throw invalidParameter('response_format', 'must have the type "text" together with a tool');
  const { data, error } = responseFormat.safeParse({ type: 'json_schema', json_schema: tool });
  const [issue] = error?.issues ?? [];
  if (issue) throw invalidParameter(`tools[0].function.${String(issue.path.at(-1))}`, issue.message);
  return requestedForm(data, agent, (param, problem) =>
    invalidParameter(param === 'response_format' ? 'tools' : 'tools[0].function.parameters', problem),
  );
}
