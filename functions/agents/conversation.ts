import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { ReasoningStep } from '#contract/message.ts';
import { joinTexts, type PromptMessage, type PromptPart } from '#domain/chats/agent-runtime.ts';
import { ModelFailure, type ModelFailureKind } from '#domain/platform/failures.ts';
import type { Shown } from './attachments.ts';
import type { OfferedTool } from './tools/agent-tool.ts';

export interface ByteBounds {
  text: number;
  /** For reasoning and the arguments of tools. */
  other: number;
}

export function withinBytes(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  bounds: ByteBounds,
): { parts: AsyncIterable<LanguageModelV4StreamPart>; wasCut: () => boolean } {
  const remaining = { ...bounds };
  let wasCut = false;
  const upToBounds = (part: LanguageModelV4StreamPart): LanguageModelV4StreamPart | undefined => {
    if (!('delta' in part) || typeof part.delta !== 'string') return part;
    const kind = part.type === 'text-delta' ? 'text' : 'other';
    const bytes = Buffer.from(part.delta);
    wasCut = bytes.length > remaining[kind];
    if (wasCut)
      return part.type === 'text-delta'
        ? { ...part, delta: wholeCharacters(bytes.subarray(0, remaining.text)) }
        : undefined;
    remaining[kind] -= bytes.length;
    return part;
  };
  async function* parts(): AsyncGenerator<LanguageModelV4StreamPart> {
    for await (const part of stream) {
      const fitting = upToBounds(part);
      if (fitting !== undefined) yield fitting;
      if (wasCut) return;
    }
  }
  return { parts: parts(), wasCut: () => wasCut };
}

/** `stream` leaves out an incomplete character at the end. */
const wholeCharacters = (bytes: Uint8Array): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });

export class PreviousMessages {
  messages: readonly PromptMessage[];
  private isHalved = false;
  isWithoutRejected = false;

  constructor(messages: readonly PromptMessage[]) {
    this.messages = messages;
  }

  /**
   * Removes the older half of the messages, and a reply that would then come first. The second call removes all.
   * Returns false if there was no message to remove.
   */
  shorten(): boolean {
    if (this.messages.length === 0) return false;
    const half = this.isHalved ? [] : this.messages.slice(Math.ceil(this.messages.length / 2));
    this.isHalved = true;
    this.messages = half[0]?.role === 'assistant' ? half.slice(1) : half;
    return true;
  }

  removeRejected(): boolean {
    const last = this.messages.at(-1);
    const turns = (last?.role === 'assistant' && last.rejectedTurns) || 0;
    if (turns === 0) return false;
    this.messages = this.messages.slice(0, -2 * turns);
    this.isWithoutRejected = true;
    return true;
  }
}

export async function streamWithinContext(
  previous: PreviousMessages,
  open: () => Promise<AsyncIterable<LanguageModelV4StreamPart>>,
  mayRetry: (failure: ModelFailureKind) => boolean,
): Promise<AsyncIterable<LanguageModelV4StreamPart>> {
  for (;;)
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof ModelFailure && error.isOfContent)) throw error;
      const isShorter = previous.removeRejected() || (error.kind === 'tooLong' && previous.shorten());
      if (!isShorter || !mayRetry(error.kind)) throw error;
    }
}

type CurrentMessage = Omit<Extract<PromptMessage, { role: 'user' }>, 'role'>;
type UserContent = (LanguageModelV4TextPart | LanguageModelV4FilePart)[];

/**
 * Of the steps in earlier replies, the prompt has at most those that hand over to the user, because a user message
 * responds to them. A file that several messages attach is shown with the last one of them.
 */
export function conversationOf(
  history: readonly PromptMessage[],
  userMessage: CurrentMessage,
  { offered, ...files }: ShownFiles & { offered: readonly OfferedTool[] },
): LanguageModelV4Prompt {
  const conversation: LanguageModelV4Prompt = [];
  const messages = [...history, { role: 'user' as const, ...userMessage }];
  const lastOf = new Map(
    messages.flatMap((message) =>
      message.role === 'user' ? message.attachments.map(({ uuid }) => [uuid, message]) : [],
    ),
  );
  for (const message of messages)
    if (message.role === 'user') {
      const attachments = message.attachments.filter(({ uuid }) => lastOf.get(uuid) === message);
      addUserMessage(conversation, userContent({ ...message, attachments }, files));
    } else conversation.push(...replyMessages(message.content, message.reasoningSteps, offered));
  return conversation;
}

interface ShownFiles {
  shown: Shown['parts'];
  seesImages: boolean;
}

const userContent = (
  { content, attachments, parts }: CurrentMessage,
  { shown, seesImages }: ShownFiles,
): UserContent => [
  ...attachments.flatMap(({ uuid }) => shown.get(uuid) ?? []),
  ...(parts?.map((part) => contentOf(part, seesImages)) ?? [{ type: 'text' as const, text: content }]),
];

function contentOf(part: PromptPart, seesImages: boolean): UserContent[number] {
  if (part.type === 'text') return part;
  return seesImages
    ? { type: 'file', data: { type: 'data', data: part.bytes }, mediaType: part.mediaType }
    : { type: 'text', text: '[An image is attached, but this model cannot see images.]' };
}

/** Joins consecutive user messages, because some models reject them. */
export function addUserMessage(conversation: LanguageModelV4Prompt, content: UserContent): void {
  const last = conversation.at(-1);
  if (last?.role === 'user') last.content = joinTexts([...last.content, ...content]);
  else conversation.push({ role: 'user', content });
}

function replyMessages(
  text: string,
  steps: readonly ReasoningStep[],
  offered: readonly OfferedTool[],
): LanguageModelV4Prompt {
  const textMessages: LanguageModelV4Prompt =
    text === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text }] }];
  const stepMessages = steps.flatMap((step): LanguageModelV4Message[] => {
    const tool = offered.find((candidate) => candidate.type === step.type && candidate.handsOver);
    if (tool === undefined || step.result?.success !== true) return [];
    const call = { toolCallId: step.id, toolName: tool.name };
    return [
      { role: 'assistant', content: [{ type: 'tool-call', ...call, input: step.args }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', ...call, output: { type: 'json', value: { status: 'shown' } } }],
      },
    ];
  });
  return [...stepMessages, ...textMessages];
}
