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
}

/** Function names that providers accept. */
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;
const searchType = 'consultant_search_web';

/**
 * The tools of an agent that this deployment can offer.
 * @param needed types of tools that this reply needs, whether or not the agent has them
 * @throws Error that names the tool: its type is unknown, its config is invalid, or its name is invalid or a duplicate
 */
export function offeredTools(
  available: readonly AgentTool[],
  definition: AgentDefinition,
  needed: readonly string[] = [],
): OfferedTool[] {
  const { unified_tools: configured, use_search } = definition;
  const more = [...(use_search ? [searchType] : []), ...needed].filter(
    (type) => !configured.some((entry) => entry.type === type),
  );
  const all = [...configured, ...more.map((type): (typeof configured)[number] => ({ type }))];
  const names = new Set<string>();
  return all
    .map((entry, index): OfferedTool => {
      const location = `unified_tools[${index}]`;
      const tool = available.find(({ type }) => type === entry.type);
      if (tool === undefined)
        throw new Error(`${location}.type must be one of ${available.map(({ type }) => type).join(', ')}`);
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
