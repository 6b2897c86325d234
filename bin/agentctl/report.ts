import type { Command } from 'commander';
import { print } from '../terminal.ts';
import { type TargetOptions, useTarget } from './target.ts';

/** The object for `--json`, and the lines for a person. */
export interface Result {
  json: unknown;
  lines: string[];
}

export type SharedOptions = TargetOptions & { json?: true };

type Action<Inputs extends unknown[]> = (...inputs: Inputs) => Promise<void>;

const optionsOf = (inputs: readonly unknown[]): SharedOptions =>
  (inputs.at(-1) as Command).optsWithGlobals<SharedOptions>();

export const clientReport =
  <Inputs extends unknown[]>(work: (...inputs: Inputs) => Promise<Result>): Action<Inputs> =>
  async (...inputs) => {
    const { json, lines } = await work(...inputs);
    print(optionsOf(inputs).json ? [JSON.stringify(json)] : lines);
  };

export const operation = <Inputs extends unknown[]>(
  group: Command,
  usage: string,
  work: (...inputs: Inputs) => Promise<Result>,
): Command => group.command(usage).action(report(work));

/** Makes the action of a command of operators. */
export const report = <Inputs extends unknown[]>(
  work: (...inputs: Inputs) => Promise<Result>,
): Action<Inputs> =>
  clientReport<Inputs>(async (...inputs) => {
    await useTarget(optionsOf(inputs));
    const { resolveWorkspaces } = await import('./resolve-workspaces.ts');
    await resolveWorkspaces(inputs);
    return work(...inputs);
  });
