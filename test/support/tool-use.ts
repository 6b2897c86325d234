import { createServer, type RequestListener } from 'node:http';
import type { StreamEvent } from '#contract/events.ts';
import type { ReasoningStep } from '#contract/message.ts';
import { clientOf } from './client.ts';
import { type LocalServer, listenLocally } from './listen-locally.ts';
import type { ScriptedModel } from './scripted-model.ts';
import { type AgentFields, createTenant, type Service } from './service.ts';
import { createChat, historyOf } from './turns.ts';

interface RequestedCall {
  name: string;
  arguments: unknown;
}

/** Makes the model call the tool that a message names, and reply with the tool's result, as JSON. */
export function callRequestedTool(model: ScriptedModel): void {
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') call.chunk(last.content);
    else call.callTools(JSON.parse(last?.content ?? '') as RequestedCall);
    call.finish();
  };
}

export interface ToolUse {
  /** The reasoning step in the history. The stream's step is checked to be equal. */
  step: ReasoningStep;
  result: NonNullable<ReasoningStep['result']>;
  /** The tool's result as the model received it. */
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
    const message = JSON.stringify({ name: tool.name ?? tool.type, arguments: args } satisfies RequestedCall);
    const events = await (await client.stream(chatId, { message, agent_id: tenant.agentId })).all();
    const streamed = stepIn(events);
    const [step, ...others] = (await historyOf(client, chatId)).at(-1)?.meta.reasoning_steps ?? [];
    if (step?.result == null || others.length > 0)
      throw new Error('The reply does not have exactly one step that has ended');
    const shown = shownOf(step, step.result);
    if (JSON.stringify(streamed.shown) !== JSON.stringify(shown))
      throw new Error(
        `The stream has ${JSON.stringify(streamed.shown)}, the history ${JSON.stringify(shown)}`,
      );
    return { step, result: step.result, modelText: jsonIn(streamed.reply) };
  };
}

/** The tool's result is JSON; errors about calls that the model made up are plain text. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The only reasoning step of a stream, and its reply. @throws Error if the stream has another shape */
function stepIn(events: (StreamEvent | '[DONE]')[]) {
  const types = events.map((event) => (event === '[DONE]' ? event : event.type));
  const sent = <Type extends StreamEvent['type']>(type: Type) =>
    events.find(
      (event): event is Extract<StreamEvent, { type: Type }> => event !== '[DONE]' && event.type === type,
    );
  const start = sent('response.reasoning_step.start');
  const end = sent('response.reasoning_step.end');
  const completed = sent('response.output_text.completed');
  if (start === undefined || end === undefined || completed === undefined || completed !== events.at(-2))
    throw new Error(`The stream is not one step and a reply: ${types.join(', ')}`);
  return { shown: shownOf(start.step, end.step.result), reply: completed.final_text };
}

const shownOf = (
  { id, type, content, args }: Pick<ReasoningStep, 'id' | 'type' | 'content' | 'args'>,
  result: ReasoningStep['result'],
) => ({ id, type, content, args, result });

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
