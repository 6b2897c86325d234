import type { StreamEvent } from '#contract/events.ts';
import type { MessageResource } from '#contract/message.ts';
import type { Client } from './client.ts';
import { type ModelCall, type ModelUsage, replyWith, type ScriptedModel } from './model-server.ts';
import { createChat, historyOf } from './turns.ts';

type Respond = (call: ModelCall) => void;

/** Scripts a model, call by call. A call that is not scripted fails. Returns the calls. */
export function scriptCalls(model: Pick<ScriptedModel, 'onCall'>, ...responses: Respond[]): ModelCall[] {
  const calls: ModelCall[] = [];
  model.onCall = (call) => {
    const respond = responses[calls.push(call) - 1];
    if (respond === undefined) call.fail(400);
    else respond(call);
  };
  return calls;
}

export const says =
  (text: string, usage?: ModelUsage): Respond =>
  (call) =>
    replyWith(call, text, usage);

export const callsTool =
  (name: string, args: unknown, usage?: ModelUsage): Respond =>
  (call) => {
    call.callTools({ name, arguments: args });
    call.finish(usage);
  };

/** Streams the reply of an agent in a new chat, and reads its history. */
export async function replyIn(client: Client, agentId: string, message = 'go') {
  const chatId = await createChat(client, { agentId });
  const events = await streamedReply(client, agentId, chatId, message);
  const history = await historyOf(client, chatId);
  return { chatId, events, history, meta: history.at(-1)?.meta as MessageResource['meta'] };
}

export const streamedReply = async (client: Client, agentId: string, chatId: number, message: string) =>
  (await client.stream(chatId, { message, agent_id: agentId })).all();

export const typesOf = (events: (StreamEvent | '[DONE]' | undefined)[]) =>
  events.map((event) => (typeof event === 'object' ? event.type.replace('response.', '') : event));

export const formTool = { type: 'consultant_request_form' } as const;
export const form = { title: 'Your address', fields: [{ name: 'street', label: 'Street', type: 'text' }] };
