import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { SQSEvent } from 'aws-lambda';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import type { FrozenDefinition, StateRun } from './run-definition.ts';

/** An item as DynamoDB returns it, with the type of each value. */
export type FrozenItem = Record<string, AttributeValue> & Record<'pk' | 'sk', { S: string }>;

/** A message as it was sent to the queue. */
export interface FrozenMessage {
  /** The function that sent it. */
  sender: string;
  body: SlotMessage;
  group: string;
  delaySeconds: number;
}

/** What the service's processes sent to each other, and to a client's server. */
export interface FrozenMessages {
  commit: string;
  workspaceId: string;
  /** One message of each shape. */
  queue: FrozenMessage[];
  /** With which Lambda delivers the first of them. */
  event: SQSEvent;
  workflow: {
    definition: FrozenDefinition;
    execution: { name: string; input: { workspaceId: string; batchId: string }; output: unknown };
    /** Inputs and outputs of an execution's tasks, in order. */
    states: StateRun[];
    /** The output that completes a task that waits for its token. */
    taskOutput: unknown;
  };
  webhook: { headers: Record<string, string>; body: Record<string, unknown> };
  /** Responses of the authorizer, by the kind of key. */
  authorizer: Record<string, { event: Record<string, unknown>; answer: Record<string, unknown> }>;
  /** An invocation of the function that prepares a file for models. */
  attachment: { input: Record<string, unknown>; output: unknown };
}

export const fixtures = join(import.meta.dirname, '../../fixtures/frozen');

export async function readFrozenItems(): Promise<FrozenItem[]> {
  const text = await readFile(join(fixtures, 'items.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line, withBytes) as FrozenItem);
}

/** For `JSON.parse`: the bytes of an attribute of type B. */
const withBytes = (name: string, value: unknown): unknown =>
  name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;

export const readFrozenMessages = async (): Promise<FrozenMessages> =>
  JSON.parse(await readFile(join(fixtures, 'messages.json'), 'utf8')) as FrozenMessages;
