import * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import type { AgentTool } from './agent-tool.ts';

/** A tool with one agent's name, description and config. */
export interface OfferedTool {
  /** The tool's name for the model. */
  name: string;
  description: string;
  tool: AgentTool;
  config: unknown;
  /** In `unified_tools`. Tools that are not in it have the indexes after its last one. */
  index: number;
}

type Issue = z.core.$ZodIssue;
type Entry = AgentDefinition['unified_tools'][number];

/** Function names that providers accept. */
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;
const searchType = 'consultant_search_web';

/**
 * The tools of an agent that this deployment can offer.
 * @param needed types of tools that this reply needs, whether or not the agent has them
 * @throws Error that names the first wrong tool: see `inspectTools`
 */
export function offeredTools(
  available: readonly AgentTool[],
  definition: AgentDefinition,
  needed: readonly string[] = [],
): OfferedTool[] {
  const { offered, issues } = inspectTools(available, definition, needed);
  if (issues.length > 0) throw new Error(z.prettifyError({ issues: issues.slice(0, 1) }));
  return offered;
}

/**
 * The tools of an agent that this deployment can offer, and what is wrong with others: an unknown type, an invalid config,
 * an invalid name or a duplicate one.
 */
export function inspectTools(
  available: readonly AgentTool[],
  { unified_tools: configured, use_search }: AgentDefinition,
  needed: readonly string[] = [],
): { offered: OfferedTool[]; issues: Issue[] } {
  const more = [...(use_search ? [searchType] : []), ...needed].filter(
    (type) => !configured.some((entry) => entry.type === type),
  );
  const all = [...configured, ...more.map((type): Entry => ({ type }))];
  const names = new Set<string>();
  const offered: OfferedTool[] = [];
  const issues: Issue[] = [];
  for (const [index, entry] of all.entries()) {
    const inspected = inspectTool(available, entry, index, names);
    issues.push(...inspected.issues);
    if (inspected.offered !== undefined) offered.push(inspected.offered);
  }
  return { offered, issues };
}

/** @param names of the tools before this one, to which it adds this one's */
function inspectTool(
  available: readonly AgentTool[],
  entry: Entry,
  index: number,
  names: Set<string>,
): { offered?: OfferedTool; issues: Issue[] } {
  const path = ['unified_tools', index];
  const issue = (message: string, ...field: string[]): Issue => ({
    code: 'custom',
    path: [...path, ...field],
    message,
  });
  const tool = available.find(({ type }) => type === entry.type);
  if (tool === undefined)
    return { issues: [issue(`must be one of ${available.map(({ type }) => type).join(', ')}`, 'type')] };
  const name = entry.name ?? tool.type;
  const config = tool.config.safeParse(entry.config ?? {}, { reportInput: true });
  const issues = [
    ...(functionName.test(name)
      ? []
      : [issue('must be 1 to 64 letters, digits, underscores or hyphens', 'name')]),
    ...(names.has(name) ? [issue(`is called ${name}, as another tool: give each a name of its own`)] : []),
    ...(config.error?.issues ?? []).map((each) => ({ ...each, path: [...path, 'config', ...each.path] })),
  ];
  names.add(name);
  if (!config.success || tool.isAvailable?.() === false) return { issues };
  const description = entry.description ?? tool.description;
  return { offered: { name, description, tool, config: config.data, index }, issues };
}
