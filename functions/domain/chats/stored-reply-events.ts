import type { StreamEventBody } from '#contract/events.ts';
import { messageId } from './message.ts';
import type { StoredReply } from './send-turn.ts';

/** The events of a reply that is stored already, for the client whose streamed request was repeated. */
export function* storedReplyEvents(
  chatId: number,
  agentId: string,
  { reply, agent }: StoredReply,
): Generator<StreamEventBody> {
  const message_id = messageId(chatId, reply.position);
  yield {
    type: 'response.created',
    message_id,
    agent_id: agentId,
    model: agent?.definition.llm_model ?? '',
  };
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
