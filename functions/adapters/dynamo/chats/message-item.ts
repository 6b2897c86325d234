import { fileItem, fileOf } from '#adapters/dynamo/files/file-index.ts';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { attributesNamed, type Item } from '#adapters/dynamo/table/table.ts';
import type { ReasoningStep, TokenUsage } from '#contract/message.ts';
import type { Chat } from '#domain/chats/chat.ts';
import {
  type AssistantMessage,
  type ContentStore,
  isReplyPosition,
  type Message,
  noUsage,
} from '#domain/chats/message.ts';

const usageFields = Object.keys(noUsage) as (keyof TokenUsage)[];

/** Without the texts. Compact, because each KB of an item costs a write unit. */
export const attributesOf = (message: Message): Item => ({
  position: message.position,
  at: Date.parse(message.createdAt),
  ...(message.role === 'user' && {
    ...(message.attachments.length > 0 && { files: message.attachments.map(fileItem) }),
    ...(message.turnId !== undefined && { turn: message.turnId }),
  }),
  ...(message.role === 'assistant' && {
    usage: numbersOf(message.tokenUsage),
    ...replies.itemOf(message),
  }),
});

const replies = attributesNamed<
  Pick<AssistantMessage, 'agentVersionId' | 'error' | 'incomplete' | 'responseId' | 'rejectedTurns'>
>({
  agentVersionId: ['version', null],
  error: ['error', null],
  incomplete: ['incomplete', null],
  responseId: ['response_id'],
  rejectedTurns: ['rejected_turns'],
});

export const positionsOf = (item: Item): Pick<AssistantMessage, 'position' | 'rejectedTurns'> => ({
  position: item.position as number,
  ...(item.rejected_turns !== undefined && { rejectedTurns: item.rejected_turns as number }),
});

const textsOf = (message: Message): { content: string; steps?: string } => ({
  content: message.content,
  ...(message.role === 'assistant' &&
    message.reasoningSteps.length > 0 && { steps: JSON.stringify(message.reasoningSteps) }),
});

function messageOf(
  item: Item,
  workspaceId: string,
  { content, steps }: { content: string; steps: string | undefined },
): Message {
  const position = item.position as number;
  const createdAt = new Date(item.at as number).toISOString();
  if (!isReplyPosition(position)) {
    const attachments = ((item.files as Item[] | undefined) ?? []).map((file) => fileOf(file, workspaceId));
    const turnId = item.turn as string | undefined;
    return {
      role: 'user',
      position,
      content,
      attachments,
      createdAt,
      ...(turnId !== undefined && { turnId }),
    };
  }
  return {
    role: 'assistant',
    position,
    content,
    createdAt,
    ...replies.fieldsOf(item),
    reasoningSteps: steps === undefined ? [] : stepsOf(steps),
    tokenUsage: usageOf(item.usage as number[]),
  };
}

const numbersOf = (usage: TokenUsage): number[] =>
  usageFields.slice(0, usage.cached_prompt_tokens > 0 ? 5 : 4).map((field) => usage[field]);

const usageOf = (usage: readonly number[]) =>
  Object.fromEntries(usageFields.map((field, index) => [field, usage[index] ?? 0])) as unknown as TokenUsage;

/** Steps of earlier releases may lack fields of the usage. */
const stepsOf = (steps: string): ReasoningStep[] =>
  (JSON.parse(steps) as ReasoningStep[]).map((step) => ({
    ...step,
    token_usage: { ...noUsage, ...step.token_usage },
  }));

export type Contents = () => ContentStore;

type TextAttribute = 'content' | 'steps';

/** Of content and steps together. The rest of an item's 400 KB is for the other attributes. */
const inlineBytes = 300_000;

const nameOf = (item: Item, attribute: TextAttribute): string | undefined =>
  item[`${attribute}_name`] as string | undefined;

export const largeTextsOf = (item: Item): number =>
  (['content', 'steps'] as const).filter((attribute) => nameOf(item, attribute) !== undefined).length;

export async function textOf(
  contents: Contents,
  item: Item,
  attribute: TextAttribute,
): Promise<string | undefined> {
  const name = nameOf(item, attribute);
  return name === undefined ? (item[attribute] as string | undefined) : contents().get(name);
}

export async function readMessage(contents: Contents, workspaceId: string, item: Item): Promise<Message> {
  const [content = '', steps] = await Promise.all([
    textOf(contents, item, 'content'),
    textOf(contents, item, 'steps'),
  ]);
  return messageOf(item, workspaceId, { content, steps });
}

/**
 * Undefined if the content is longer than `most.characters`. Steps longer than `most.steps` are left out, and
 * `stepCharacters` is then `most.steps`.
 */
export async function readMessageUpTo(
  contents: Contents,
  workspaceId: string,
  item: Item,
  most: { characters: number; steps: number },
): Promise<{ message: Message; stepCharacters: number } | undefined> {
  const content = await textUpTo(contents, item, 'content', most.characters);
  if (content === undefined) return undefined;
  const steps = await textUpTo(contents, item, 'steps', most.steps);
  const message = messageOf(item, workspaceId, { content, steps: steps === '' ? undefined : steps });
  return { message, stepCharacters: steps?.length ?? most.steps };
}

async function textUpTo(
  contents: Contents,
  item: Item,
  attribute: TextAttribute,
  characters: number,
): Promise<string | undefined> {
  const name = nameOf(item, attribute);
  if (name !== undefined) return contents().getUpTo(name, characters);
  const text = (item[attribute] as string | undefined) ?? '';
  return text.length <= characters ? text : undefined;
}

export const wholeItem = (chat: Chat, message: Message, texts = textsOf(message)): Item => ({
  ...keys.message(chat.workspaceId, chat.id, message.position),
  ...attributesOf(message),
  ...texts,
});

/** Puts texts into the content store, the longer one first, until the rest fits `inlineBytes`. `names` are theirs. */
export async function storeLargeTexts(
  contents: Contents,
  chat: Chat,
  message: Message,
): Promise<{ item: Item; names: string[] }> {
  const texts = textsOf(message);
  const longestFirst = Object.entries(texts)
    .map(([attribute, text]) => ({ attribute, text, bytes: Buffer.byteLength(text) }))
    .sort((one, other) => other.bytes - one.bytes);
  const item = wholeItem(chat, message, texts);
  let bytes = longestFirst.reduce((sum, entry) => sum + entry.bytes, 0);
  const names: string[] = [];
  for (const entry of longestFirst) {
    if (bytes <= inlineBytes) break;
    const name = await contents().put(chat, entry.text);
    names.push(name);
    delete item[entry.attribute];
    item[`${entry.attribute}_name`] = name;
    bytes -= entry.bytes;
  }
  return { item, names };
}
