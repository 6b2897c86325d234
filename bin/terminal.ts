import { controlCharacters } from '#contract/describe-issues.ts';

/**
 * Writes control characters as `\uXXXX`: others may have chosen them, and they must not reach a terminal.
 * @param kept control characters that stay
 */
export const terminalText = (text: string, kept = ''): string =>
  text.replace(controlCharacters, (control) =>
    kept.includes(control) ? control : `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export const print = (lines: readonly string[]): void => console.log(textOf(lines));

export const printError = (lines: readonly string[]): void => console.error(textOf(lines));

const textOf = (lines: readonly string[]): string => lines.map((line) => terminalText(line)).join('\n');
