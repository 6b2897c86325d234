import type { ModelCall, ScriptedModel } from '../scripted-model.ts';

/**
 * What a message makes the model do: reply, be unavailable at first, throttle for a while, or close the connection
 * after some characters at each attempt.
 */
export type ScriptedBehavior = 'Say' | 'Stumble' | 'Throttle' | 'Break off';

export const replyTo = (marker: string): string => `You said ${marker}, and that is that.`;

/** Replies to each message with its marker, in chunks with pauses, and fails as messages request. */
export function respondAsRequested(model: ScriptedModel, random: () => number): { failed: () => number } {
  const attempts = new Map<string, number>();
  let failed = 0;
  model.onCall = (call) => {
    // A soak has hundreds of thousands of calls, which would fill the memory.
    model.calls.length = 0;
    const { marker, behavior } = readBehavior(call);
    const attempt = (attempts.get(marker) ?? 0) + 1;
    const status = statusAt(behavior, attempt);
    if (status !== undefined || behavior === 'Break off') failed += 1;
    if (status === undefined) {
      attempts.delete(marker);
      void respond(call, behavior, marker, random);
    } else {
      attempts.set(marker, attempt);
      call.fail(status);
    }
  };
  return { failed: () => failed };
}

function readBehavior({ request }: ModelCall): { marker: string; behavior: ScriptedBehavior } {
  const text = JSON.stringify(request.messages.at(-1)?.content ?? '');
  return {
    marker: text.match(/#[\w-]+#/g)?.at(-1) ?? '#none#',
    behavior: (text.match(/Say|Stumble|Throttle|Break off/g)?.at(-1) ?? 'Say') as ScriptedBehavior,
  };
}

/**
 * The HTTP error at this attempt. A reply makes up to four calls, so two failures do not show in a chat. Throttling
 * lasts for four calls: the reply fails, and a batch retries the request.
 */
function statusAt(behavior: ScriptedBehavior, attempt: number): number | undefined {
  if (behavior === 'Stumble' && attempt < 3) return 503;
  if (behavior === 'Throttle' && attempt <= 4) return 429;
  return undefined;
}

async function respond(
  call: ModelCall,
  behavior: ScriptedBehavior,
  marker: string,
  random: () => number,
): Promise<void> {
  const text = replyTo(marker);
  const end = behavior === 'Break off' ? 8 : text.length;
  for (let from = 0; from < end; from += 12) {
    call.chunk(text.slice(from, Math.min(from + 12, end)));
    await new Promise((resolve) => setTimeout(resolve, random() * 40));
  }
  if (behavior === 'Break off') call.reset();
  else call.finish();
}
