import { noUsage } from '#domain/chats/message.ts';
import { type ScriptedRuntime, scriptedRuntime } from '../scripted-runtime.ts';

/** What the model does with a request: a text, an error after a text or before any, or nothing until it is aborted. */
export type ModelReply = string | Error | { text: string; error: Error } | 'silence';

export interface ScriptedModel {
  runtime: ScriptedRuntime;
  /** Messages in the order of their calls. */
  calls: string[];
  /** @param attempt counted from 1 for each message */
  replyTo: (message: string, attempt: number) => ModelReply;
}

export function scriptedModel(): ScriptedModel {
  const runtime = scriptedRuntime();
  const model: ScriptedModel = {
    runtime,
    calls: [],
    replyTo: (message) => `Reply to ${message}`,
  };
  runtime.onReply = (reply) => {
    const { message } = reply.request;
    model.calls.push(message);
    const attempt = model.calls.filter((called) => called === message).length;
    const made = model.replyTo(message, attempt);
    const endCall = reply.startCall();
    if (made === 'silence') return;
    if (made instanceof Error) {
      endCall(noUsage);
      return reply.fail(made);
    }
    reply.text(typeof made === 'string' ? made : made.text);
    endCall();
    if (typeof made === 'string') reply.end();
    else reply.fail(made.error);
  };
  return model;
}
