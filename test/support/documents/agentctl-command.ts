import { CommanderError } from 'commander';
import { createProgram } from '../../../bin/agentctl/run-agentctl.ts';

/** Failures of a command line that a sentence only names. */
const incomplete = [
  'commander.help',
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
];

/** The commands of agentctl with a group, such as `keys list`. */
export async function groupedCommands(): Promise<string[]> {
  const { commands } = await createProgram([]);
  return commands.flatMap((group) => group.commands.map((command) => `${group.name()} ${command.name()}`));
}

/** What is wrong with a command line of agentctl: it is parsed, and not carried out. */
export async function problemsOfAgentctl(words: readonly string[], isComplete: boolean): Promise<string[]> {
  const argv = ['node', 'agentctl', ...words];
  const program = await createProgram([]);
  const leaves = program.commands.flatMap((group) =>
    group.commands.length === 0 ? [group] : group.commands,
  );
  for (const command of [program, ...program.commands, ...leaves])
    command.configureOutput({ writeErr: () => {}, writeOut: () => {} });
  for (const leaf of leaves) leaf.action(() => {});
  try {
    await program.parseAsync(argv);
    return [];
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === 'commander.helpDisplayed') return [];
    return !isComplete && incomplete.includes(error.code) ? [] : [`${error.code} ${error.message}`];
  }
}
