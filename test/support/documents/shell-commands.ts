/**
 * The simple commands of a shell script, each as its words without quotes. Commands in substitutions, pipes, loops and
 * functions are included. A substitution is `$(…)` in the word that contains it; variables stay as they are.
 */
export function readCommands(script: string): string[][] {
  const reader = new ShellReader(script);
  reader.readList();
  if (!reader.isAtEnd) throw new Error(`A parenthesis is not open: ${script}`);
  return reader.commands;
}

class ShellReader {
  readonly commands: string[][] = [];
  private at = 0;
  private readonly script: string;

  constructor(script: string) {
    this.script = script;
  }

  get isAtEnd(): boolean {
    return this.at === this.script.length;
  }

  /** Reads commands to a closing parenthesis, or to the end of the script. */
  readList(): void {
    while (!this.isAtEnd && this.script[this.at] !== ')') {
      const words = this.readCommand();
      const isName = this.take(/\(\)/y) !== undefined;
      if (words.length > 0 && !isName) this.commands.push(words);
      if (this.take(/\(/y) !== undefined) this.readParenthesis();
    }
  }

  private readParenthesis(): void {
    this.readList();
    if (this.take(/\)/y) === undefined) throw new Error(`A parenthesis is not closed: ${this.script}`);
  }

  /** Reads the words of a command and what separates it from the next one. */
  private readCommand(): string[] {
    const words: string[] = [];
    for (;;) {
      this.skipBetweenWords();
      const word = this.readWord();
      if (word === undefined) break;
      words.push(word);
    }
    this.take(/[\n;&|]+/y);
    return words;
  }

  /** Spaces, comments, and redirections with their files. */
  private skipBetweenWords(): void {
    while (this.take(/[ \t]+|\\\n|#[^\n]*/y) !== undefined || this.skipRedirection());
  }

  private skipRedirection(): boolean {
    const operator = this.take(/\d*[<>]{1,2}&?[ \t]*/y);
    if (operator === undefined) return false;
    const target = this.readWord() ?? '';
    // The line with the delimiter ends a here-document.
    if (operator === '<<') this.at = this.script.indexOf(`\n${target}\n`, this.at) + target.length + 1;
    return true;
  }

  private readWord(): string | undefined {
    let text: string | undefined;
    for (;;) {
      const part = this.take(/'[^']*'|"|\$\(|\\[^\n]|\$\{[^}]*\}|[^\s;&|()<>'"\\$]+|\$/y);
      if (part === undefined) return text;
      text = (text ?? '') + (part === '"' ? this.readQuoted() : this.textOf(part));
    }
  }

  private readQuoted(): string {
    let text = '';
    for (;;) {
      const part = this.take(/"|\$\(|\\[\s\S]|[^"\\$]+|\$/y);
      if (part === undefined) throw new Error(`A quote is not closed: ${this.script}`);
      if (part === '"') return text;
      text += this.textOf(part);
    }
  }

  private textOf(part: string): string {
    if (part === '$(') {
      this.readParenthesis();
      return '$(…)';
    }
    if (/^'.*'$/s.test(part)) return part.slice(1, -1);
    return part.startsWith('\\') ? part.slice(1) : part;
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.script) ?? [];
    if (found !== undefined) this.at = pattern.lastIndex;
    return found;
  }
}
