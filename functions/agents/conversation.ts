import type { ModelMessage } from 'ai';
import type { ReasoningStep } from '#contract/message.ts';
import type { Message } from '#domain/message.ts';
import type { OfferedTool } from './tools/offered-tools.ts';

/**
 * Messages as a model takes them. A reply that failed before its first word has nothing to tell; the user messages
 * around it become one, since some models refuse two in a row. Of earlier steps the model sees only those that wait for
 * the user, whose answer is the next message; the rest is in the text that came of them.
 */
export function conversationOf(
  history: readonly Message[],
  message: string,
  offered: readonly OfferedTool[],
): ModelMessage[] {
  const conversation: ModelMessage[] = [];
  for (const earlier of history)
    if (earlier.role === 'user') addUserText(conversation, earlier.content);
    else conversation.push(...replyMessages(earlier.content, earlier.reasoningSteps, offered));
  addUserText(conversation, message);
  return conversation;
}

function addUserText(conversation: ModelMessage[], text: string): void {
  const last = conversation.at(-1);
  if (last?.role === 'user') last.content = `${last.content}\n\n${text}`;
  else conversation.push({ role: 'user', content: text });
}

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
