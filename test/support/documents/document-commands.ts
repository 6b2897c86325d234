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

/** The innermost one, or a calculation: without parentheses, but in single quotes. */
const substitution = /\$\((?:\(([^()]*)\)|((?:'[^']*'|[^()'])*))\)/;
/** Spaces, comments, names of functions, and redirections with their files. */
const skipped = /[ \t]+|\\\n|#.*|\w+\(\)|\d*[<>]{1,2}&?[ \t]*[^\s;&|()]+/;
const wordPart = /'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\(.)|[^\s;&|()<>'"\\]+/g;
const token = new RegExp(
  `(?:${skipped.source})|(?<end>[\\n;&|()]+)|(?<word>(?:${wordPart.source})+)|(?<wrong>.)`,
  'g',
);

/**
 * The simple commands of a shell script, each as its words without quotes. Commands in substitutions, pipes, loops and
 * functions are included. A substitution is `$…` in the word that contains it; variables stay as they are.
 */
function readCommands(script: string): string[][] {
  const commands: string[][] = [];
  // The line with the delimiter ends a here-document.
  let text = script.replaceAll(/<<'?(\w+)'?(.*\n)[\s\S]*?^\1$/gm, '$2');
  for (let found = substitution.exec(text); found !== null; found = substitution.exec(text)) {
    commands.push(...simpleCommands(found[1] ?? found[2] ?? ''));
    text = `${text.slice(0, found.index)}$…${text.slice(found.index + found[0].length)}`;
  }
  return [...commands, ...simpleCommands(text)];
}

function simpleCommands(text: string): string[][] {
  const commands: string[][] = [[]];
  for (const { groups = {} } of text.matchAll(token)) {
    if (groups.wrong !== undefined) throw new Error(`A quote is not closed: ${text}`);
    if (groups.end !== undefined) commands.push([]);
    if (groups.word !== undefined) commands.at(-1)?.push(withoutQuotes(groups.word));
  }
  return commands.filter((words) => words.length > 0);
}

const withoutQuotes = (word: string): string =>
  word.replaceAll(
    wordPart,
    (part, plain?: string, quoted?: string, escaped?: string) =>
      plain ?? quoted?.replaceAll(/\\([\s\S])/g, '$1') ?? escaped ?? part,
  );
