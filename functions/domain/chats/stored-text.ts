import { eventOf } from '#contract/event-text.ts';
import type { ReplyName } from './reply-event-store.ts';
import type { Services } from './services.ts';

/** The text of a resumable reply, as far as its events are stored. */
export async function storedText(
  { replyEvents }: Services<'replyEvents'>,
  reply: ReplyName,
): Promise<string> {
  let text = '';
  for await (const { texts } of replyEvents.eventsFrom(reply, 0))
    for (const event of texts.map(eventOf))
      if (event.type === 'response.output_text.delta') text += event.delta;
  return text;
}
