import type { Command, CommanderError } from 'commander';
import { reasonOf } from '#local/data/state-file.ts';
import manifest from '../package.json' with { type: 'json' };
import { terminalText } from './terminal.ts';

export const { version } = manifest;

/** The command line, or a variable of the environment, is wrong. */
export class UsageError extends Error {}

/** An error of one or more lines, such as the mistakes in a file. */
export class Mistakes extends Error {
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join('; '));
    this.lines = lines;
  }
}

export const exitCodes = {
  failure: 1,
  usageError: 2,
  someFailed: 3,
  allFailed: 4,
  interrupted: 130,
} as const;

export const exitCodeOf = ({ exitCode }: CommanderError): number =>
  exitCode === 0 ? 0 : exitCodes.usageError;

/** Makes a command print a usage error as one line. `help` is the command that prints the help. */
export const printUsageErrors = (command: Command, help: string): Command =>
  command.configureOutput({
    outputError: (text, write) =>
      write(
        `${terminalText(
          text
            .trim()
            .replaceAll(/\s*\n\s*/g, ' ')
            .replace(/\.$/, ''),
        )}. Try ${help}\n`,
      ),
  });

export const bugReport = `This is a bug of version ${version} (Node.js ${process.versions.node}, ${process.platform}-${process.arch}). Please report it with these lines: CONTRIBUTING.md says where.`;

const bugClasses = [TypeError, RangeError, ReferenceError, SyntaxError];
const bugNames = ['AssertionError', 'ZodError'];

export const isBug = (error: unknown): boolean =>
  !(error instanceof Error) ||
  bugNames.includes(error.name) ||
  bugClasses.some((bugClass) => error instanceof bugClass);

export function describeFailure(error: unknown): string {
  if (isBug(error)) return `${error instanceof Error ? error.stack : error}\n${bugReport}`;
  const { path, message } = error as NodeJS.ErrnoException;
  const reason = reasonOf(error);
  if (reason === message) return message;
  return path === undefined ? reason : `${path}: ${reason}`;
}
