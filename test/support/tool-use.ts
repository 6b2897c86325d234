import { createServer, type RequestListener } from 'node:http';
import { expect } from 'vitest';
import { type Client, clientOf } from './client.ts';
import { type LocalServer, listenLocally } from './listen-locally.ts';
import type { ScriptedModel } from './scripted-model.ts';
import { type AgentFields, createTenant, type Service } from './service.ts';
import { createChat, historyOf } from './turns.ts';

/** Makes the model call the tool that a message names, and reply with the tool's result, as JSON. */
export function callRequestedTool(model: ScriptedModel): void {
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') call.chunk(last.content);
    else call.callTools(JSON.parse(last?.content ?? '') as { name: string; arguments: unknown });
    call.finish();
  };
}

/**
 * A new chat in which the model calls one tool: see `callRequestedTool`. Returns the only step of the history, the
 * tool's result as the model received it, and all that the client has got.
 */
export async function useTool(
  client: Client,
  agentId: string,
  name: string,
  args: object = {},
  {
    chat = {},
    headers = {},
  }: { chat?: { external_user_id?: string }; headers?: Record<string, string> } = {},
) {
  const chatId = await createChat(client, { agentId }, chat);
  const message = JSON.stringify({ name, arguments: args });
  const reader = await client.stream(chatId, { message, agent_id: agentId, ...chat }, { headers });
  const events = await reader.all();
  const history = await historyOf(client, chatId, encodeURIComponent(chat.external_user_id ?? 'anyone'));
  const { content = '', meta } = history.at(-1) ?? {};
  expect(meta?.reasoning_steps).toHaveLength(1);
  const [step] = meta?.reasoning_steps ?? [];
  return {
    chatId,
    events,
    step,
    result: step?.result,
    text: content,
    all: JSON.stringify([events, history]),
  };
}

/** Uses the one tool of a new agent. */
export async function toolUser(service: Service, tool: NonNullable<AgentFields['unified_tools']>[number]) {
  const tenant = await createTenant({
    ...{ model: 'openai:test', titles: false },
    agent: { unified_tools: [tool] },
  });
  const client = clientOf(service, tenant);
  return async (args: Record<string, unknown>) => {
    const { step, text } = await useTool(client, tenant.agentId, tool.name ?? tool.type, args);
    if (step?.result == null) throw new Error('The step of the reply has not ended');
    return { step, result: step.result, text };
  };
}

export interface WebServer extends LocalServer {
  /** Paths in the order of their requests. */
  received: string[];
}

/** An HTTP server on any free port. */
export async function startWebServer(respond: RequestListener): Promise<WebServer> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(request.url ?? '');
    respond(request, response);
  });
  return { ...(await listenLocally(server)), received };
}
