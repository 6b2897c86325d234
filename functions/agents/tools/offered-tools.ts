import * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import type { AgentTool } from './agent-tool.ts';

/** A tool as one agent has it. */
export interface OfferedTool {
  /** What the model calls it by. */
  name: string;
  description: string;
  tool: AgentTool;
  config: unknown;
}

/** What providers take as the name of a function. */
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;
const searchType = 'consultant_search_web';

/**
 * The tools of an agent that this deployment can offer.
 * @param needed types of tools that this reply cannot do without
 * @throws Error naming the tool for an unknown type, a config that does not fit, or a name that cannot be called or is there twice
 */
export function offeredTools(
  known: readonly AgentTool[],
  definition: AgentDefinition,
  needed: readonly string[] = [],
): OfferedTool[] {
  const { unified_tools: wanted, use_search } = definition;
  const more = [...(use_search ? [searchType] : []), ...needed].filter(
    (type) => !wanted.some((entry) => entry.type === type),
  );
  const all = [...wanted, ...more.map((type): (typeof wanted)[number] => ({ type }))];
  const names = new Set<string>();
  return all
    .map((entry, index): OfferedTool => {
      const location = `unified_tools[${index}]`;
      const tool = known.find(({ type }) => type === entry.type);
      if (tool === undefined)
        throw new Error(`${location}.type must be one of ${known.map(({ type }) => type).join(', ')}`);
      const name = entry.name ?? tool.type;
      if (!functionName.test(name))
        throw new Error(`${location}.name must be 1 to 64 letters, digits, underscores or hyphens`);
      if (names.has(name))
        throw new Error(`${location}: another tool is called ${name} too; give each a name of its own`);
      names.add(name);
      const config = tool.config.safeParse(entry.config ?? {});
      if (!config.success) throw new Error(`${location}.config: ${z.prettifyError(config.error)}`);
      return { name, description: entry.description ?? tool.description, tool, config: config.data };
    })
    .filter(({ tool }) => tool.isAvailable?.() ?? true);
}
