import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Option {
  readonly type: string;
  readonly alias?: string | string[];
  readonly requiresArg?: boolean;
}

interface Registry {
  readonly globalOptions: Readonly<Record<string, Option>>;
  readonly commands: Readonly<
    Record<string, { arg?: object; aliases?: string[]; options?: Readonly<Record<string, Option>> }>
  >;
}

/** What the installed CDK command accepts: its own command line is made from this file. */
const registry = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../../../node_modules/aws-cdk/lib/cli/cli-type-registry.json'),
    'utf8',
  ),
) as Registry;

/** What is wrong with a command of the CDK. */
export function problemsOfCdk([name = '', ...rest]: readonly string[]): string[] {
  const command = Object.entries(registry.commands).find(
    ([key, { aliases = [] }]) => key === name || aliases.includes(name),
  )?.[1];
  if (command === undefined) return [`cdk has no command ${name}`];
  const options = Object.entries({ ...registry.globalOptions, ...command.options });
  const optionOf = (word: string): Option | undefined =>
    options.find(([key, { alias = [] }]) =>
      word.startsWith('--') ? word.slice(2) === key : [alias].flat().includes(word.slice(1)),
    )?.[1];
  const problems: string[] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index] ?? '';
    if (!word.startsWith('-')) {
      if (command.arg === undefined) problems.push(`${word} is unexpected`);
      continue;
    }
    const option = optionOf(word) ?? optionOf(word.replace('--no-', '--'));
    if (option === undefined) problems.push(`there is no ${word}`);
    // The next word is the option's value.
    else if (option.type !== 'boolean') index += 1;
  }
  return problems;
}

/** The settings that a command of the CDK overrides. */
export const settingsOf = (words: readonly string[]): string[] =>
  words.flatMap((word) => (word.startsWith('settings=') ? [word.slice('settings='.length)] : []));
