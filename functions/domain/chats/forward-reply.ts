import type { StreamEventBody } from '#contract/events.ts';
import { ReplyAborted } from './collect-reply.ts';
import { type Reply, stopped } from './gather-reply.ts';
import { messageId } from './message.ts';
import { renewLeases } from './renew-leases.ts';
import type { Services } from './services.ts';
import type { RunningReply } from './start-reply.ts';
import type { Turn } from './turn.ts';

/** Sends a reply's events to the client. Never fails, and never waits for a client that is gone or slow. */
export interface ReplySink {
  emit(event: StreamEventBody): void;
  /** The first event can be resumed, if any can. */
  started(): Promise<void>;
  /** Called after the last event. */
  done(): void | Promise<void>;
}

/**
 * Forwards the events of a running reply to its client, renews the chat lease, and looks whether a client stops the
 * reply, until the reply is completed.
 * @param onText called with each text delta, after it was forwarded
 */
export async function forwardReply(
  services: Services<'chats' | 'clock' | 'log' | 'replySettings' | 'stops'>,
  turn: Turn,
  running: RunningReply,
  { emit }: Pick<ReplySink, 'emit'>,
  onText: () => void,
): Promise<{ reply: Reply; renewed: Promise<unknown> }> {
  emit({
    type: 'response.created',
    message_id: messageId(turn.chat.id, turn.position + 1),
    agent_id: turn.agent.agentId,
    model: turn.agent.definition.llm_model,
  });
  const renewal = renewLeases(
    services,
    (until) => services.chats.renewLease(turn.chat, turn.chat.lease.id, until),
    running.stop,
  );
  const unwatch = services.stops.watch(turn.chat, turn.chat.lease.id, () =>
    running.stop.abort(new ReplyAborted('stopped-by-client', stopped)),
  );
  running.forwardTo((event) => {
    emit(event);
    if (event.type === 'response.output_text.delta') onText();
  });
  const { reply } = await running.completed;
  renewal.stop();
  return { reply, renewed: Promise.all([renewal.finished(), unwatch()]) };
}
