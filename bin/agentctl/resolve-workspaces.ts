import type { Command } from 'commander';
import { workspaces } from '#runtime/composition/services.ts';

/**
 * Replaces names by ids, in the option `--workspace` and in the argument `<workspace>`.
 * @param inputs the command's arguments, its options and the command itself
 * @throws Error if there is no such workspace, or if several have the name
 */
export async function resolveWorkspaces(inputs: unknown[]): Promise<void> {
  const command = inputs.at(-1) as Command;
  const options = inputs.at(-2) as { workspace?: string };
  if (options.workspace !== undefined) options.workspace = await idOf(options.workspace);
  const position = command.registeredArguments.findIndex((argument) => argument.name() === 'workspace');
  if (position !== -1) inputs[position] = await idOf(inputs[position] as string);
}

async function idOf(idOrName: string): Promise<string> {
  if ((await workspaces().get(idOrName)) !== undefined) return idOrName;
  const ids = (await workspaces().list()).filter(({ name }) => name === idOrName).map(({ id }) => id);
  const [id, ...others] = ids;
  if (id === undefined) throw new Error(`Workspace ${idOrName} not found`);
  if (others.length > 0)
    throw new Error(`${ids.length} workspaces are called ${idOrName}: give the id, one of ${ids.join(', ')}`);
  return id;
}
