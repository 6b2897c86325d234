import * as z from 'zod';
import { findProvider } from '#agents/models/model-provider.ts';
import { inspectTools, issuesOfNames, offeredTools, ReplyScope } from '#agents/tools/agent-tool.ts';
import { issuesOfOffers } from '#agents/tools/remote/check-offers.ts';
import { type AgentDefinition, agentDefinition, unifiedTool } from '#contract/agent.ts';
import { describeIssue } from '#contract/describe-issues.ts';
import { problemOfSchema } from '#contract/json-schema.ts';
import { limits } from '#contract/limits.ts';
import { modelProviders } from './models-and-tools.ts';
import { agents, attachments, toolsWith } from './services.ts';

/** Fields with a mistyped name would otherwise be ignored. */
const agentFile = agentDefinition
  .strict()
  .extend({ unified_tools: z.array(unifiedTool.strict()).max(32).default([]) });

/** @returns a definition with none of the values that the schema rejects */
export async function checkAgent(
  workspaceId: string,
  input: unknown,
): Promise<{ definition: AgentDefinition; mistakes: string[] }> {
  const { data, error } = agentFile.safeParse(input, { reportInput: true });
  const issues = error?.issues ?? [];
  const { definition, wrongTools } = data ? { definition: data, wrongTools: [] } : soundPartOf(input, issues);
  const bytes = Buffer.byteLength(JSON.stringify(definition));
  return {
    definition,
    mistakes: [
      ...issues.map((issue) => describeIssue(issue, 'the file')),
      ...modelMistakes(definition),
      ...schemaMistakes(definition),
      ...(await toolMistakes(workspaceId, definition, wrongTools)),
      ...(bytes > limits.agentBytes
        ? [`an agent may have ${limits.agentBytes} bytes as JSON, this one has ${bytes}`]
        : []),
    ],
  };
}

const placeholder = { type: 'wrong' };

/** @returns also the indexes of the wrong tools; undefined stands for `unified_tools` itself */
function soundPartOf(
  input: unknown,
  issues: readonly z.core.$ZodIssue[],
): { definition: AgentDefinition; wrongTools: unknown[] } {
  // An unknown field does not make other fields wrong.
  const paths = issues.filter(({ code }) => code !== 'unrecognized_keys').map(({ path }) => path);
  const wrongTools = paths.filter(([field]) => field === 'unified_tools').map(([, index]) => index);
  const wrong = new Set(paths.map(([field]) => field));
  if (!wrongTools.includes(undefined)) wrong.delete('unified_tools');
  const fields = Object.entries(input ?? {}).filter(([name]) => !wrong.has(name));
  const definition = agentDefinition.parse({
    name: 'wrong',
    ...Object.fromEntries(
      fields.map(([name, value]) => [
        name,
        name === 'unified_tools'
          ? (value as unknown[]).map((tool, index) => (wrongTools.includes(index) ? placeholder : tool))
          : value,
      ]),
    ),
  });
  return { definition, wrongTools };
}

/** A mistake can appear after the agent was saved, for example if a stage loses an endpoint. */
export function modelMistakes(definition: AgentDefinition): string[] {
  const { llm_model, unified_tools, use_search, output_schema } = definition;
  const { vision, fallback_models = [] } = definition.meta;
  const mistakes: string[] = [];
  const found = (model: string, field: string) => {
    try {
      const { provider, name } = findProvider(modelProviders(), model);
      return { seesImages: vision ?? provider.seesImages(name), lacksTools: provider.lacksTools?.(name) };
    } catch (error) {
      mistakes.push((error as Error).message.replace('llm_model', field));
      return undefined;
    }
  };
  const own = found(llm_model, 'llm_model');
  for (const [index, model] of fallback_models.entries()) {
    const field = `meta.fallback_models[${index}]`;
    const fallback = found(model, field);
    const reject = (problem: string) => mistakes.push(`${field} ${problem}`);
    // All models of an agent get the same prompt, with the same images.
    if (fallback?.seesImages === false && own?.seesImages === true)
      reject(`accepts no images, and ${llm_model} does: set meta.vision, or name another model`);
    if (fallback?.lacksTools && (unified_tools.length > 0 || use_search))
      reject('accepts no tools, and the agent has some: name another model');
    if (fallback?.lacksTools && output_schema)
      reject('accepts no output_schema, and the agent has one: name another model');
    if ([llm_model, ...fallback_models.slice(0, index)].includes(model)) reject('is the same model again');
  }
  return mistakes;
}

function schemaMistakes({ output_schema: schema, unified_tools: tools }: AgentDefinition): string[] {
  const mistakes: string[] = [];
  const problem = schema && problemOfSchema(schema);
  if (problem) mistakes.push(`output_schema at ${problem}`);
  if (schema && tools.some(({ type }) => type === 'consultant_request_form'))
    mistakes.push(
      'output_schema and the tool consultant_request_form exclude each other: a form has no JSON',
    );
  return mistakes;
}

async function toolMistakes(
  workspaceId: string,
  definition: AgentDefinition,
  wrongTools: readonly unknown[],
): Promise<string[]> {
  const { offered, toolsets, issues } = await inspectTools(toolsWith(attachments), definition);
  const ofEntries = [...issues, ...issuesOfNames(offered, definition.unified_tools)].toSorted(
    ({ path: [, one] }, { path: [, other] }) => Number(one) - Number(other),
  );
  const mistakes = [...ofEntries, ...issuesOfOffers(offered, definition)]
    .filter(({ path }) => !wrongTools.includes(path[1]))
    .map((issue) => describeIssue(issue, 'the file'));
  for (const { kind, config, index } of toolsets) {
    const mistake = await kind.checkConfig?.(config, workspaceId);
    if (mistake !== undefined) mistakes.push(`unified_tools[${index}].config.${mistake}`);
  }
  return mistakes;
}

/**
 * For operators' commands only: whatever the tool's approval, and without the timeout of replies.
 * @throws Error if there is no such tool, the arguments do not fit, or the tool fails
 */
export async function useRemoteTool(
  definition: AgentDefinition,
  name: string,
  args: unknown,
  of: { agentId: string; workspace: string; user?: string | undefined },
): Promise<unknown> {
  const tool = (await offeredTools(toolsWith(attachments), definition)).find((each) => each.name === name);
  if (!tool?.isRemote) throw new Error(`The agent has no tool ${name} of another system`);
  const read = tool.read(args);
  if (read.problem !== undefined) throw new Error(`The arguments do not fit the tool: ${read.problem}`);
  const { agentId, workspace: workspaceId, user = null } = of;
  const { number = null } = (await agents().published(workspaceId, agentId)) ?? {};
  const scope = new ReplyScope();
  try {
    const use = {
      ...{ callId: 'tools-call', chat: { externalUserId: user }, scope, attachments: [] },
      ...{ agents: [{ workspaceId, agentId, number }], signal: new AbortController().signal },
    } as never;
    return (await tool.run(read.input, use)).data;
  } finally {
    await scope.close();
  }
}
