import { styleText } from 'node:util';
import type { StreamEvent } from '#contract/events.ts';

/** Shows a reply as it comes: its text on standard output, all else in short dim lines on standard error. */
export class ReplyScreen {
  readonly #contents = new Map<string, string>();
  #isLineOpen = false;

  show(event: StreamEvent): void {
    switch (event.type) {
      case 'response.output_text.delta':
        this.#write(event.delta);
        break;
      case 'response.chat.title.updated':
        this.note(`Title: ${event.name}`);
        break;
      case 'response.reasoning_step.start':
        this.#contents.set(event.step.id, event.step.content);
        this.note(`… ${event.step.type}: ${event.step.content}`);
        break;
      case 'response.reasoning_step.end': {
        const outcome = event.step.result.success ? 'ok' : 'failed';
        this.note(`${outcome} ${event.step.type}: ${this.#contents.get(event.step.id) ?? ''}`);
        break;
      }
      case 'response.error':
        this.error(`${event.message} (code ${event.code})`);
        break;
      // response.created and response.output_text.completed say nothing new; later versions may send others.
    }
  }

  note(text: string): void {
    this.#endLine();
    process.stderr.write(`${styleText('dim', oneLine(text), { stream: process.stderr })}\n`);
  }

  error(text: string): void {
    this.#endLine();
    process.stderr.write(`${styleText('red', oneLine(text), { stream: process.stderr })}\n`);
  }

  /** Ends the reply's last line. */
  end(): void {
    if (this.#isLineOpen) process.stdout.write('\n');
    this.#isLineOpen = false;
  }

  #write(text: string): void {
    const shown = process.stdout.isTTY ? printable(text) : text;
    if (shown === '') return;
    process.stdout.write(shown);
    this.#isLineOpen = !shown.endsWith('\n');
  }

  /** On a terminal both streams meet; in a file the reply must be as it was sent. */
  #endLine(): void {
    if (process.stdout.isTTY) this.end();
  }
}

/** Without control characters: what a model or a page says must not steer the terminal. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it takes out
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/** So long a line still fits most terminals. */
const noteCharacters = 110;

function oneLine(text: string): string {
  const line = printable(text.replace(/\s+/g, ' ')).trim();
  return line.length <= noteCharacters ? line : `${line.slice(0, noteCharacters - 1)}…`;
}
