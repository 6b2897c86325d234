import type { FilePart, ModelMessage, TextPart, UserContent } from 'ai';
import type { ReasoningStep } from '#contract/message.ts';
import type { Message, UserMessage } from '#domain/message.ts';
import type { Shown } from './attachments.ts';
import type { OfferedTool } from './tools/offered-tools.ts';

type Asked = Pick<UserMessage, 'content' | 'attachments'>;

/**
 * Messages as a model takes them, each with its files before its text. A reply that failed before its first word has
 * nothing to tell; the user messages around it become one, since some models refuse two in a row. Of earlier steps the
 * model sees only those that wait for the user, whose answer is the next message; the rest is in the text that came of
 * them.
 */
export function conversationOf(
  history: readonly Message[],
  asked: Asked,
  { shown, offered }: { shown: Shown['parts']; offered: readonly OfferedTool[] },
): ModelMessage[] {
  const conversation: ModelMessage[] = [];
  for (const earlier of history)
    if (earlier.role === 'user') addUserMessage(conversation, userContent(earlier, shown));
    else conversation.push(...replyMessages(earlier.content, earlier.reasoningSteps, offered));
  addUserMessage(conversation, userContent(asked, shown));
  return conversation;
}

function userContent({ content, attachments }: Asked, shown: Shown['parts']): UserContent {
  const files = attachments.flatMap(({ uuid }) => shown.get(uuid) ?? []);
  return files.length === 0 ? content : [...files, { type: 'text', text: content }];
}

function addUserMessage(conversation: ModelMessage[], content: UserContent): void {
  const last = conversation.at(-1);
  if (last?.role !== 'user') conversation.push({ role: 'user', content });
  else if (typeof last.content === 'string' && typeof content === 'string')
    last.content = `${last.content}\n\n${content}`;
  else last.content = [...partsOf(last.content), ...partsOf(content)];
}

const partsOf = (content: UserContent): (TextPart | FilePart)[] =>
  typeof content === 'string'
    ? [{ type: 'text', text: content }]
    : content.filter((part) => part.type === 'text' || part.type === 'file');

function replyMessages(
  text: string,
  steps: readonly ReasoningStep[],
  offered: readonly OfferedTool[],
): ModelMessage[] {
  const said: ModelMessage[] = text === '' ? [] : [{ role: 'assistant', content: text }];
  const asked = steps.flatMap((step): ModelMessage[] => {
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
  return [...asked, ...said];
}
