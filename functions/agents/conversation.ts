import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { ReasoningStep } from '#contract/message.ts';
import type { PromptMessage, PromptPart } from '#domain/chats/agent-runtime.ts';
import type { Shown } from './attachments.ts';
import type { OfferedTool } from './tools/offered-tools.ts';

type CurrentMessage = Omit<Extract<PromptMessage, { role: 'user' }>, 'role'>;
type UserContent = (LanguageModelV4TextPart | LanguageModelV4FilePart)[];

/**
 * The messages in the form of a model's prompt, each with its files before its text. A reply without text is left out,
 * and the user messages around it become one, because some models reject two user messages in a row. Of earlier steps
 * the prompt contains only those that wait for the user, such as a form: the next user message responds to them. The
 * results of other steps are already part of the reply's text.
 */
export function conversationOf(
  history: readonly PromptMessage[],
  userMessage: CurrentMessage,
  { offered, ...files }: ShownFiles & { offered: readonly OfferedTool[] },
): LanguageModelV4Prompt {
  const conversation: LanguageModelV4Prompt = [];
  for (const previous of history)
    if (previous.role === 'user') addUserMessage(conversation, userContent(previous, files));
    else conversation.push(...replyMessages(previous.content, previous.reasoningSteps, offered));
  addUserMessage(conversation, userContent(userMessage, files));
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

/** Adds to the last message if it is of the user. */
export function addUserMessage(conversation: LanguageModelV4Prompt, content: UserContent): void {
  const last = conversation.at(-1);
  if (last?.role === 'user') last.content = joinTexts([...last.content, ...content]);
  else conversation.push({ role: 'user', content });
}

/** Joins adjacent texts, so that content without images is one text. */
export function joinTexts(content: UserContent): UserContent {
  const joined: UserContent = [];
  for (const part of content) {
    const last = joined.at(-1);
    if (last?.type === 'text' && part.type === 'text')
      joined[joined.length - 1] = { type: 'text', text: `${last.text}\n\n${part.text}` };
    else joined.push(part);
  }
  return joined;
}

function replyMessages(
  text: string,
  steps: readonly ReasoningStep[],
  offered: readonly OfferedTool[],
): LanguageModelV4Prompt {
  const textMessages: LanguageModelV4Prompt =
    text === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text }] }];
  const stepMessages = steps.flatMap((step): LanguageModelV4Message[] => {
    const tool = offered.find((candidate) => candidate.tool.type === step.type && candidate.tool.handsOver);
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
