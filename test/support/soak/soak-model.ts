import type { ModelCall, ScriptedModel } from '../scripted-model.ts';

/**
 * What a message asks the model for: to answer, to be out of reach at first, to throttle for a while, or to break off
 * every time.
 */
export type Wish = 'Say' | 'Stumble' | 'Throttle' | 'Break off';

export const replyTo = (marker: string): string => `You said ${marker}, and that is that.`;

/** Answers each message by the mark that stands in it, in pieces with pauses; fails as messages ask for. */
export function respondByWishes(model: ScriptedModel, random: () => number): { failed: () => number } {
  const attempts = new Map<string, number>();
  let failed = 0;
  model.onCall = (call) => {
    // A soak has hundreds of thousands.
    model.calls.length = 0;
    const text = JSON.stringify(call.request.messages.at(-1)?.content ?? '');
    const marker = text.match(/#[\w-]+#/g)?.at(-1) ?? '#none#';
    const wish = (text.match(/Say|Stumble|Throttle|Break off/g)?.at(-1) ?? 'Say') as Wish;
    const attempted = (attempts.get(marker) ?? 0) + 1;
    if (wish === 'Stumble' || wish === 'Throttle') attempts.set(marker, attempted);
    // As often as a reply asks before it gives up: a chat never sees it, a batch waits and comes back.
    if ((wish === 'Stumble' && attempted < 3) || (wish === 'Throttle' && attempted <= 4)) {
      failed += 1;
      call.fail(wish === 'Stumble' ? 503 : 429);
      return;
    }
    attempts.delete(marker);
    if (wish === 'Break off') failed += 1;
    void respond(call, wish, marker, random);
  };
  return { failed: () => failed };
}

async function respond(call: ModelCall, wish: Wish, marker: string, random: () => number): Promise<void> {
  const text = replyTo(marker);
  const end = wish === 'Break off' ? 8 : text.length;
  for (let from = 0; from < end; from += 12) {
    call.chunk(text.slice(from, Math.min(from + 12, end)));
    await new Promise((resolve) => setTimeout(resolve, random() * 40));
  }
  if (wish === 'Break off') call.reset();
  else call.finish();
}
