import type { ServerResponse } from 'node:http';
import { EventStreamCodec } from '@smithy/core/event-streams';
import { fromUtf8, toUtf8 } from '@smithy/core/serde';
import {
  CollectedReply,
  fragmentsOf,
  type ModelRequest,
  type ModelUsage,
  type ProviderCall,
  type ReceivedRequest,
  type ScriptedModel,
  type StreamError,
  sendJson,
  serveModel,
  usualUsage,
} from './model-server.ts';

/** Serves Amazon Bedrock's Converse, scripted, over real HTTP, for AWS_ENDPOINT_URL_BEDROCK_RUNTIME. */
export const startScriptedBedrock = (): Promise<ScriptedModel> => serveModel(openCall);

const codec = new EventStreamCodec(toUtf8, fromUtf8);

/** A frame of `application/vnd.amazon.eventstream`. Bedrock pads payloads with `p`, so that sizes reveal nothing. */
function frameOf(
  messageType: 'event' | 'exception',
  type: string,
  payload: Record<string, unknown>,
): Uint8Array {
  return codec.encode({
    headers: {
      ':message-type': { type: 'string', value: messageType },
      [`:${messageType}-type`]: { type: 'string', value: type },
      ':content-type': { type: 'string', value: 'application/json' },
    },
    body: fromUtf8(JSON.stringify({ ...payload, p: 'abcdefgh' })),
  });
}

const streamErrors: Readonly<Record<StreamError, string>> = {
  throttled: 'throttlingException',
  overloaded: 'serviceUnavailableException',
  'server error': 'internalServerException',
  'invalid request': 'validationException',
};

const httpErrors: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException',
  424: 'ModelErrorException',
  429: 'ThrottlingException',
  500: 'InternalServerException',
  503: 'ServiceUnavailableException',
};

const stopReasons = { length: 'max_tokens', content_filter: 'content_filtered' } as const;

function openCall({ method, path, headers, text }: ReceivedRequest, response: ServerResponse): ProviderCall {
  const route = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path);
  if (method !== 'POST' || route === null) throw new Error(`No such route: ${method} ${path}`);
  const body = JSON.parse(text) as ConverseBody;
  const stream = route[2] === 'converse-stream';
  const said = new CollectedReply();
  const events = stream ? openEvents(response) : undefined;
  const finish = (stopReason: string, usage: ModelUsage | null = usualUsage) => {
    const tokens = usage && {
      inputTokens: usage.prompt_tokens - (usage.cached ?? 0) - (usage.written ?? 0),
      outputTokens: usage.completion_tokens,
      totalTokens: usage.prompt_tokens + usage.completion_tokens,
      ...(usage.cached !== undefined && { cacheReadInputTokens: usage.cached }),
      ...(usage.written !== undefined && { cacheWriteInputTokens: usage.written }),
    };
    if (events === undefined) {
      const message = { role: 'assistant', content: [{ text: said.text }] };
      return sendJson(response, 200, { output: { message }, stopReason, ...(tokens && { usage: tokens }) });
    }
    events.closeBlock();
    events.send('messageStop', { stopReason });
    if (tokens) events.send('metadata', { usage: tokens, metrics: { latencyMs: 1 } });
    response.end();
  };
  return {
    request: requestOf(decodeURIComponent(route[1] ?? ''), stream, body),
    body,
    headers,
    open: () => events?.open(),
    chunk(content) {
      said.text += content;
      events?.inBlock('text', { text: content });
    },
    reason(content) {
      events?.inBlock('reasoning', { reasoningContent: { text: content } });
    },
    callTools(...calls) {
      const added = said.call(calls);
      events?.toolBlocks(added);
    },
    finish: (usage) => finish(said.toolCalls.length > 0 ? 'tool_use' : 'end_turn', usage),
    cut: (reason) => finish(stopReasons[reason]),
    failInStream(error) {
      events?.open();
      response.end(frameOf('exception', streamErrors[error], { message: 'scripted' }));
    },
    fail(status, extraHeaders = {}, message = `scripted ${status}`) {
      const type = httpErrors[status] ?? 'UnknownException';
      const errorType = `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`;
      sendJson(response, status, { message }, { 'x-amzn-errortype': errorType, ...extraHeaders });
    },
  };
}

function openEvents(response: ServerResponse) {
  let isOpen = false;
  let block: { index: number; kind: string } | undefined;
  let blocks = 0;
  const open = () => {
    if (isOpen) return;
    isOpen = true;
    response.writeHead(200, { 'Content-Type': 'application/vnd.amazon.eventstream' }).flushHeaders();
  };
  const send = (type: string, payload: Record<string, unknown>) => {
    if (!isOpen) {
      open();
      response.write(frameOf('event', 'messageStart', { role: 'assistant' }));
    }
    response.write(frameOf('event', type, payload));
  };
  const closeBlock = () => {
    if (block !== undefined) send('contentBlockStop', { contentBlockIndex: block.index });
    block = undefined;
  };
  const nextBlock = (kind: string) => {
    closeBlock();
    block = { index: blocks, kind };
    blocks += 1;
    return block;
  };
  return {
    open,
    send,
    closeBlock,
    inBlock(kind: 'text' | 'reasoning', delta: Record<string, unknown>): void {
      const { index } = block?.kind === kind ? block : nextBlock(kind);
      send('contentBlockDelta', { contentBlockIndex: index, delta });
    },
    /** Bedrock closes each block before it opens the next one, so the calls' fragments are not interleaved. */
    toolBlocks(calls: ReturnType<CollectedReply['call']>): void {
      for (const call of calls) {
        const { index } = nextBlock('tool');
        const toolUse = { toolUseId: call.id, name: call.name };
        send('contentBlockStart', { contentBlockIndex: index, start: { toolUse } });
        for (const { fragment } of fragmentsOf([call]))
          send('contentBlockDelta', { contentBlockIndex: index, delta: { toolUse: { input: fragment } } });
      }
    },
  };
}

export interface ConverseBody {
  system?: { text?: string; cachePoint?: { type: string } }[];
  messages: { role: 'user' | 'assistant'; content: { text?: string; toolResult?: object }[] }[];
}

/** Uses and results of tools are left out: `body` has them. */
const requestOf = (
  model: string,
  stream: boolean,
  { system = [], messages }: ConverseBody,
): ModelRequest => ({
  model,
  stream,
  messages: [
    ...system.flatMap(({ text }) => (text === undefined ? [] : [{ role: 'system', content: text }])),
    ...messages.map(({ role, content }) => ({
      role,
      content: content.flatMap(({ text }) => text ?? []).join('\n\n'),
    })),
  ],
});
