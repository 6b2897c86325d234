import type { Command, CommanderError } from 'commander';
import { reasonOf } from '#local/data/state-file.ts';
import manifest from '../package.json' with { type: 'json' };
import { terminalText } from './terminal.ts';

export const { version } = manifest;

/** The command line, or a variable of the environment, is wrong. */
export class UsageError extends Error {}

/** What the command has read has one or more mistakes. Each mistake is a line. */
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

/** The exit code after Commander has ended a command: it has printed help or the version, or found a usage error. */
export const exitCodeOf = ({ exitCode }: CommanderError): number =>
  exitCode === 0 ? 0 : exitCodes.usageError;

/**
 * Makes a command print each of its usage errors as one line.
 * @param help the command line that prints the help
 */
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

/** Printed with the stack trace of a bug. */
export const bugReport = `This is a bug of version ${version} (Node.js ${process.versions.node}, ${process.platform}-${process.arch}). Please report it with these lines: CONTRIBUTING.md says where.`;

// Errors of these classes, or with these names, count as bugs.
const bugClasses = [TypeError, RangeError, ReferenceError, SyntaxError];
const bugNames = ['AssertionError', 'ZodError'];

/** Whether an error counts as a bug. It is then printed with its stack trace. */
export const isBug = (error: unknown): boolean =>
  !(error instanceof Error) ||
  bugNames.includes(error.name) ||
  bugClasses.some((bugClass) => error instanceof bugClass);

/** Why a command failed; for a bug the stack trace and `bugReport`. */
export function describeFailure(error: unknown): string {
  if (isBug(error)) return `${error instanceof Error ? error.stack : error}\n${bugReport}`;
  const { path, message } = error as NodeJS.ErrnoException;
  const reason = reasonOf(error);
  if (reason === message) return message;
  return path === undefined ? reason : `${path}: ${reason}`;
}
