import type { StreamEvent } from './events.ts';

/** What JSON may hold and some readers of lines, such as Python's `splitlines`, take for the end of a line. */
const lineSeparators = /[\u0085\u2028\u2029]/g;

/** JSON in one line for every reader of lines. */
export const jsonLine = (value: unknown): string =>
  JSON.stringify(value).replace(
    lineSeparators,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** An event as server-sent bytes (specification, section 6.1). A blank line ends it, and it contains no other. */
export const eventText = (event: { type: StreamEvent['type'] }): string =>
  `event: ${event.type}\ndata: ${jsonLine(event)}\n\n`;

/** The last bytes of a complete stream. */
export const endOfStream = 'data: [DONE]\n\n';

/** The event of a text of `eventText`. */
export const eventOf = (text: string): StreamEvent =>
  JSON.parse(text.slice(text.indexOf('\ndata: ') + '\ndata: '.length)) as StreamEvent;
