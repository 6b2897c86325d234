import type { StreamEvent } from './events.ts';

/** An event as server-sent bytes (specification, section 6.1). A blank line ends it, and it contains no other. */
export const eventText = (event: { type: StreamEvent['type'] }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** The last bytes of a complete stream. */
export const endOfStream = 'data: [DONE]\n\n';

/** The event of a text of `eventText`. */
export const eventOf = (text: string): StreamEvent =>
  JSON.parse(text.slice(text.indexOf('\ndata: ') + '\ndata: '.length)) as StreamEvent;
