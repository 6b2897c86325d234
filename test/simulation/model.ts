import { APICallError, type LanguageModelV4, type LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelProvider } from '#agents/models/model-provider.ts';
import type { Process } from './process.ts';

/** A call of the model, which is paid. */
export interface PaidCall {
  process: Process;
  workspaceId: string;
  /** The last message of the user, which is unique in the world; empty for a title. */
  message: string;
  startedAt: number;
  /** When its output ended; undefined if it did not end by itself. */
  succeededAt: number | undefined;
  hasOutput: boolean;
}

const newCall = (process: Process, workspaceId: string, message: string): PaidCall => ({
  ...{ process, workspaceId, message, startedAt: process.world.timeline.now },
  ...{ succeededAt: undefined, hasOutput: false },
});

/** How fast the model is, and how often it fails. */
export interface ModelManners {
  /** The longest reply, in milliseconds. */
  slowest: number;
  failures: number;
}

const failed = (kind: 'conflict' | 'throttled' | 'failed'): Error =>
  kind === 'failed'
    ? new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
    : tooMany();

const tooMany = (): Error =>
  new APICallError({
    ...{ message: 'Too many requests', url: 'https://model.test/v1', requestBodyValues: {}, statusCode: 429 },
    ...{ responseHeaders: {}, responseBody: '{}' },
  });

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finishReason = { unified: 'stop', raw: 'stop' } as const;

/** A model as a process sees it. Its name is the workspace's id. */
export const scriptedProvider = (
  process: Process,
  manners: ModelManners,
  onCall: (call: PaidCall) => void,
): ModelProvider => ({
  needsName: true,
  seesImages: () => false,
  model: (workspaceId) => scriptedModel(process, workspaceId, manners, onCall),
});

const scriptedModel = (
  process: Process,
  workspaceId: string,
  manners: ModelManners,
  onCall: (call: PaidCall) => void,
): LanguageModelV4 => ({
  ...{ specificationVersion: 'v4', provider: 'scripted', modelId: 'scripted', supportedUrls: {} },
  async doGenerate({ abortSignal }) {
    const { timeline } = process.world;
    const call = newCall(process, workspaceId, '');
    await countArrival(call, onCall, abortSignal, () =>
      process.call('model.generate', 'other', () => undefined, failed),
    );
    await process.sleep(timeline.between(200, 3000));
    abortSignal?.throwIfAborted();
    call.hasOutput = true;
    return { content: [{ type: 'text', text: 'A title' }], finishReason, usage, warnings: [] };
  },
  async doStream({ prompt, abortSignal }) {
    const { timeline } = process.world;
    const call = newCall(process, workspaceId, lastText(prompt));
    await countArrival(call, onCall, abortSignal, async () => {
      await process.call('model.stream', 'other', () => undefined, failed);
      abortSignal?.throwIfAborted();
      if (timeline.chance(manners.failures)) throw tooMany();
    });
    return { stream: replyStream(process, call, manners, abortSignal) };
  },
});

/** A request that is aborted may have arrived, also if its process dies before the response. */
async function countArrival(
  call: PaidCall,
  onCall: (call: PaidCall) => void,
  abortSignal: AbortSignal | undefined,
  send: () => Promise<void>,
): Promise<void> {
  const arrived = (): void => onCall(call);
  abortSignal?.addEventListener('abort', arrived);
  try {
    await send();
  } finally {
    abortSignal?.removeEventListener('abort', arrived);
  }
  onCall(call);
}

function replyStream(
  process: Process,
  call: PaidCall,
  { slowest, failures }: ModelManners,
  abortSignal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const { timeline } = process.world;
  const length = timeline.between(300, slowest);
  const end = timeline.chance(failures) ? timeline.pick(['breaks', 'silent'] as const) : 'finish';
  const text = `Reply to ${call.message}`;
  return new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      let isOpen = true;
      const close = (work: () => void): void => {
        if (isOpen) work();
        isOpen = false;
      };
      abortSignal?.addEventListener('abort', () => close(() => controller.error(abortSignal.reason)));
      process.clock.after(length / 3, () => {
        if (!isOpen) return;
        call.hasOutput = true;
        controller.enqueue({ type: 'text-start', id: '0' });
        controller.enqueue({ type: 'text-delta', id: '0', delta: text.slice(0, 8) });
      });
      if (end === 'silent') return;
      process.clock.after(length, () =>
        close(() => {
          if (end === 'breaks') return controller.error(failed('failed'));
          call.succeededAt = timeline.now;
          controller.enqueue({ type: 'text-delta', id: '0', delta: text.slice(8) });
          controller.enqueue({ type: 'text-end', id: '0' });
          controller.enqueue({ type: 'finish', finishReason, usage });
          controller.close();
        }),
      );
    },
  });
}

function lastText(prompt: Parameters<LanguageModelV4['doStream']>[0]['prompt']): string {
  const message = prompt.findLast(({ role }) => role === 'user');
  if (message?.role !== 'user') return '';
  // Attached files come before the text.
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).at(-1) ?? '';
  // After an empty reply, the prompt has the messages of the user in one.
  return text.split('\n\n').at(-1) ?? '';
}
