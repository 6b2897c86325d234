import { readCommands } from './shell-commands.ts';

export interface DocumentCommand {
  /** Its program and arguments, without variables that are set for it and words such as `do`. */
  words: string[];
  /** A command of a block has all that it needs. A command in a sentence may be only named. */
  isComplete: boolean;
}

const keywords = new Set(['do', 'then', 'else', 'if', 'while', 'until', '{', '!']);

/** The commands of a page in Markdown: of its blocks of shell code, and in its sentences. */
export function commandsOf(page: string): DocumentCommand[] {
  const blocks: string[] = [];
  const prose = page.replaceAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm, (_, language: string, code: string) => {
    if (language === 'sh') blocks.push(code);
    return '';
  });
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
  return [
    ...blocks.flatMap(readCommands).map((words) => ({ words: withoutPrefix(words), isComplete: true })),
    ...spans
      .filter((code) => /^(aws|npx|npm|cdk|agentctl|[a-z]+) [a-z-]/.test(code))
      .flatMap(readCommands)
      .map((words) => ({ words: withoutPrefix(words), isComplete: false })),
  ];
}

function withoutPrefix(words: readonly string[]): string[] {
  const first = words.findIndex((word) => !keywords.has(word) && !/^\w+=/.test(word));
  return first === -1 ? [] : words.slice(first);
}
