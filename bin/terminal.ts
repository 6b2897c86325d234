import { controlCharacters } from '#contract/describe-issues.ts';

/**
 * A text whose control characters are written as `\uXXXX`: a client or a file may have chosen them, and they must not
 * reach a terminal. JSON reads them in the same way, so a line of JSON keeps its meaning.
 * @param kept control characters that stay
 */
export const terminalText = (text: string, kept = ''): string =>
  text.replace(controlCharacters, (control) =>
    kept.includes(control) ? control : `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Prints lines on standard output, as `terminalText` writes them. */
export const print = (lines: readonly string[]): void => console.log(textOf(lines));

/** Prints lines on standard error, as `terminalText` writes them. */
export const printError = (lines: readonly string[]): void => console.error(textOf(lines));

const textOf = (lines: readonly string[]): string => lines.map((line) => terminalText(line)).join('\n');
