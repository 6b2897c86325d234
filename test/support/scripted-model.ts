import type { ServerResponse } from 'node:http';
import { nameOfModelAt } from './model-router.ts';
import {
  CollectedReply,
  fragmentsOf,
  type ModelCall,
  type ModelUsage,
  type ProviderCall,
  type ReceivedRequest,
  type ScriptedModel,
  type StreamError,
  sendJson,
  serveModel,
  usualUsage,
} from './model-server.ts';

export type { ModelCall, ScriptedModel } from './model-server.ts';

export interface OpenAiModel extends ScriptedModel {
  /** The `llm_model` of an agent that uses this model on the service that test files share. */
  sharedName: string;
}

/**
 * Serves OpenAI's chat completions, scripted, over real HTTP: for the OPENAI_BASE_URL of a file's own service, or by
 * its `sharedName` on the shared one.
 */
export async function startScriptedModel(): Promise<OpenAiModel> {
  const model = await serveModel(openCall);
  return Object.assign(model, { url: `${model.url}/v1`, sharedName: nameOfModelAt(new URL(model.url).port) });
}

/**
 * Returns a function that resolves with the model call of a given message, so that concurrent tests can script one
 * provider. Calls of other messages go to the previous `onCall`.
 */
export function callsByMessage(model: ScriptedModel): (message: string) => Promise<ModelCall> {
  const takers = new Map<string, (call: ModelCall) => void>();
  const { onCall } = model;
  model.onCall = (call) => {
    // A previous message without a reply is in the same content, before a blank line. Content with images has parts.
    const content: unknown = call.request.messages.at(-1)?.content;
    const message = (typeof content === 'string' && content.split('\n\n').at(-1)) || '';
    const take = takers.get(message) ?? onCall;
    takers.delete(message);
    take(call);
  };
  return (message) => new Promise((resolve) => takers.set(message, resolve));
}

const streamErrors: Readonly<Record<StreamError, Record<string, unknown>>> = {
  throttled: { message: 'scripted', type: 'tokens', code: 'rate_limit_exceeded' },
  overloaded: { message: 'scripted', type: 'overloaded_error', code: null },
  'server error': { message: 'scripted', type: 'server_error', param: null, code: null },
  'invalid request': { message: 'scripted', type: 'invalid_request_error', code: 'invalid_value' },
};

const totalOf = ({ cached, prompt_tokens, completion_tokens }: ModelUsage) => ({
  ...{ prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
});

function openCall({ method, path, headers, text }: ReceivedRequest, response: ServerResponse): ProviderCall {
  if (method !== 'POST' || path !== '/v1/chat/completions')
    throw new Error(`No such route: ${method} ${path}`);
  const request = JSON.parse(text) as ModelCall['request'];
  const said = new CollectedReply();
  const header = { id: 'c1', created: 1, model: request.model };
  const open = () => {
    if (!response.headersSent)
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
  };
  const chunk = (fields: Record<string, unknown>) => {
    open();
    const payload = { ...header, object: 'chat.completion.chunk', ...fields };
    response.write(`data: ${JSON.stringify(payload)}\n\n`);
  };
  const delta = (fields: Record<string, unknown>) => {
    if (!request.stream) return;
    chunk({ choices: [{ index: 0, delta: { role: 'assistant', ...fields }, finish_reason: null }] });
  };
  const finish = (reason: string, usage: ModelUsage | null = usualUsage) => {
    const total = usage && totalOf(usage);
    if (!request.stream) {
      const choices = [{ index: 0, message: plainMessage(said), finish_reason: reason }];
      const reply = { ...header, object: 'chat.completion', choices, ...(total && { usage: total }) };
      sendJson(response, 200, reply);
      return;
    }
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
    if (total) chunk({ choices: [], usage: total });
    response.end('data: [DONE]\n\n');
  };
  return {
    request,
    body: request,
    headers,
    open,
    chunk(content) {
      said.text += content;
      delta({ content });
    },
    reason(content) {
      delta({ reasoning_content: content });
    },
    callTools(...calls) {
      const first = said.toolCalls.length;
      const added = said.call(calls);
      for (const [index, { id, name }] of added.entries())
        delta({
          tool_calls: [{ index: first + index, id, type: 'function', function: { name, arguments: '' } }],
        });
      for (const { index, fragment } of fragmentsOf(added))
        delta({ tool_calls: [{ index: first + index, function: { arguments: fragment } }] });
    },
    finish: (usage) => finish(said.toolCalls.length > 0 ? 'tool_calls' : 'stop', usage),
    cut: (reason) => finish(reason),
    failInStream(error) {
      open();
      response.end(`data: ${JSON.stringify({ error: streamErrors[error] })}\n\n`);
    },
    fail(status, extraHeaders = {}, message = `scripted ${status}`) {
      sendJson(response, status, { error: { message, type: 'scripted' } }, extraHeaders);
    },
  };
}

const plainMessage = ({ text, toolCalls }: CollectedReply) => ({
  role: 'assistant',
  content: text === '' ? null : text,
  ...(toolCalls.length > 0 && {
    tool_calls: toolCalls.map(({ id, name, arguments: value }) => ({
      id,
      type: 'function',
      function: { name, arguments: typeof value === 'string' ? value : JSON.stringify(value) },
    })),
  }),
});
