import { relative } from 'node:path';
import { exitCodes } from '../failures.ts';
import { printError } from '../terminal.ts';
import type { ProgressLine } from './progress-line.ts';

/** Ctrl-C prints the lines of `describe` and ends the process. */
export async function interruptible<Value>(
  line: ProgressLine,
  describe: () => string[],
  work: () => Promise<Value>,
): Promise<Value> {
  const onSignal = () => {
    line.clear();
    printError(describe());
    process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', onSignal);
  try {
    return await work();
  } finally {
    process.off('SIGINT', onSignal);
    line.clear();
  }
}

/** Options whose values `ownCommandLine` hides. */
const secrets = ['--key', '--webhook-secret'];

/**
 * Has `…` in place of secrets.
 * @param left options without a value that are left out
 */
export function ownCommandLine(left: readonly string[] = []): string {
  const [program = '', script = '', ...words] = process.argv;
  const typed =
    process.env.npm_lifecycle_event === 'agentctl'
      ? ['npm', 'run', '--silent', 'agentctl', '--']
      : script.endsWith('.js')
        ? [program, relative(process.cwd(), script)]
        : ['agentctl'];
  const hidden = words.map((word, index) => {
    if (secrets.includes(words[index - 1] ?? '')) return '…';
    const secret = secrets.find((option) => word.startsWith(`${option}=`));
    return secret === undefined ? word : `${secret}=…`;
  });
  return [...typed, ...hidden.filter((word) => !left.includes(word))].map(quote).join(' ');
}

const quote = (word: string): string =>
  /^[\w./:=@%+,…-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
