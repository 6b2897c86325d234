import { endOfStream, eventText } from '#contract/event-text.ts';
import type { StreamEventBody } from '#contract/events.ts';
import { responseIdOf } from './chat.ts';
import type { LiveReply, StoredReply } from './find-replay.ts';
import { followReply } from './follow-reply.ts';
import { messageId } from './message.ts';
import type { Services } from './services.ts';

/**
 * The stream of a repeated request, from its beginning: the stored events of a resumable reply, which may still be
 * running. For a reply without stored events, the events are made of the reply, with its text in one delta.
 */
export async function* repeatedStream(
  services: Parameters<typeof followReply>[0] & Services<'identifiers'>,
  repeated: StoredReply | LiveReply,
  { workspaceId, chatId, agentId }: { workspaceId: string; chatId: number; agentId: string },
): AsyncGenerator<string> {
  if ('responseId' in repeated)
    return yield* followReply(services, { workspaceId, chatId, responseId: repeated.responseId }, -1);
  const stored = repeated.reply.responseId;
  const responseId = stored ?? responseIdOf({ id: services.identifiers.uuid() });
  const name = { workspaceId, chatId, responseId };
  if (stored !== undefined && (await services.replyEvents.hasReply(name, services.clock.now())))
    return yield* followReply(services, name, -1);
  let sequence_number = 0;
  for (const event of eventsOf(chatId, agentId, repeated)) {
    yield eventText({ ...event, ...{ response_id: responseId, chat_id: chatId, sequence_number } });
    sequence_number += 1;
  }
  yield endOfStream;
}

function* eventsOf(
  chatId: number,
  agentId: string,
  { reply, agent }: StoredReply,
): Generator<StreamEventBody> {
  const message_id = messageId(chatId, reply.position);
  yield { type: 'response.created', message_id, agent_id: agentId, model: agent?.definition.llm_model ?? '' };
  if (reply.content !== '') yield { type: 'response.output_text.delta', delta: reply.content };
  if (reply.error !== null) yield { type: 'response.error', ...reply.error };
  else
    yield {
      type: 'response.output_text.completed',
      message_id,
      final_text: reply.content,
      usage: reply.tokenUsage,
      ...(reply.incomplete !== null && { incomplete: reply.incomplete }),
    };
}
