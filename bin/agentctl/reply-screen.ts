import { styleText } from 'node:util';
import type { StreamEvent } from '#lib/client/index.ts';
import { terminalText } from '../terminal.ts';

/** The reply's text goes to standard output, notes to standard error. */
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
      case 'response.output_text.completed':
        if (event.incomplete === 'stopped') this.note('Stopped.');
        break;
      // `response.created` adds nothing, and the client throws `response.error`. Events of later versions are ignored.
    }
  }

  note(text: string, style: 'dim' | 'red' = 'dim'): void {
    // Only on a terminal: in a file, the line break could be within the reply.
    if (process.stdout.isTTY) this.end();
    process.stderr.write(`${styleText(style, oneLine(text), { stream: process.stderr })}\n`);
  }

  error(text: string): void {
    this.note(text, 'red');
  }

  end(): void {
    if (this.#isLineOpen) process.stdout.write('\n');
    this.#isLineOpen = false;
  }

  #write(text: string): void {
    if (text === '') return;
    const shown = process.stdout.isTTY ? terminalText(text, '\n\t') : text;
    process.stdout.write(shown);
    this.#isLineOpen = !shown.endsWith('\n');
  }
}

/** At one column each, they take two rows of 80 columns. */
const noteCharacters = 110;

function oneLine(text: string): string {
  const line = terminalText(text.replace(/\s+/g, ' ').trim());
  return line.length <= noteCharacters ? line : `${line.slice(0, noteCharacters - 1)}…`;
}
