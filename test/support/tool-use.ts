import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { StreamEvent } from '#contract/events.ts';
import type { ReasoningStep } from '#contract/message.ts';
import { clientOf } from './client.ts';
import type { ScriptedModel } from './scripted-model.ts';
import { type AgentFields, createTenant, type Service } from './service.ts';
import { createChat, historyOf } from './turns.ts';

interface Wanted {
  name: string;
  arguments: unknown;
}

/** Lets the model call the tool that a message names, and answer with what the tool gave, as JSON. */
export function callRequestedTool(model: ScriptedModel): void {
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') call.chunk(last.content);
    else call.callTools(JSON.parse(last?.content ?? '') as Wanted);
    call.finish();
  };
}

export interface ToolUse {
  /** The step as the history has it, which is also how the stream told it. */
  step: ReasoningStep;
  result: NonNullable<ReasoningStep['result']>;
  /** What the model was given. */
  modelText: unknown;
}

/** An agent with one tool, whose model calls it with the arguments given: see `callRequestedTool`. */
export async function toolUser(service: Service, tool: NonNullable<AgentFields['unified_tools']>[number]) {
  const tenant = await createTenant({
    model: 'openai:test',
    titles: false,
    agent: { unified_tools: [tool] },
  });
  const client = clientOf(service, tenant);
  return async (args: Record<string, unknown>): Promise<ToolUse> => {
    const chatId = await createChat(client, tenant);
    const message = JSON.stringify({ name: tool.name ?? tool.type, arguments: args } satisfies Wanted);
    const events = await (await client.stream(chatId, { message, agent_id: tenant.agentId })).all();
    const said = stepIn(events);
    const [step, ...others] = (await historyOf(client, chatId)).at(-1)?.meta.reasoning_steps ?? [];
    if (step?.result == null || others.length > 0) throw new Error('There is not one step that has ended');
    const shown = {
      id: step.id,
      type: step.type,
      content: step.content,
      args: step.args,
      result: step.result,
    };
    if (JSON.stringify(said.shown) !== JSON.stringify(shown))
      throw new Error(`The stream told ${JSON.stringify(said.shown)}, the history ${JSON.stringify(shown)}`);
    return { step, result: step.result, modelText: jsonIn(said.reply) };
  };
}

/** Only what the model made up itself is answered by plain text. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The one step of a stream that ends as it should. */
function stepIn(events: (StreamEvent | '[DONE]')[]) {
  const types = events.map((event) => (event === '[DONE]' ? event : event.type));
  const start = events.find((event) => event !== '[DONE]' && event.type === 'response.reasoning_step.start');
  const end = events.find((event) => event !== '[DONE]' && event.type === 'response.reasoning_step.end');
  const completed = events.at(-2);
  if (
    typeof start !== 'object' ||
    start.type !== 'response.reasoning_step.start' ||
    typeof end !== 'object' ||
    end.type !== 'response.reasoning_step.end' ||
    typeof completed !== 'object' ||
    completed.type !== 'response.output_text.completed'
  )
    throw new Error(`The stream is not that of one step and a reply: ${types.join(', ')}`);
  const { timestamp: _, ...startedAt } = start.step;
  return {
    shown: {
      id: startedAt.id,
      type: startedAt.type,
      content: startedAt.content,
      args: startedAt.args,
      result: end.step.result,
    },
    reply: completed.final_text,
  };
}

export interface WebServer {
  port: number;
  url: string;
  /** Paths in the order of their requests. */
  received: string[];
  close(): Promise<void>;
}

/** A server of the web, on any free port. */
export async function startWebServer(respond: RequestListener): Promise<WebServer> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(request.url ?? '');
    respond(request, response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
