import type { SQSEvent } from 'aws-lambda';
import type { FrozenDefinition, StateRun } from './run-definition.ts';

/** A message as the queue was given it. */
export interface FrozenMessage {
  /** The function that sent it. */
  sender: string;
  body: { workspaceId: string; batchId: string; positions: number[]; holdsPlace: boolean };
  group: string;
  delaySeconds: number;
}

/** What one process of the service said to another, and to a client's server. */
export interface FrozenMessages {
  commit: string;
  workspaceId: string;
  /** Of each shape one. */
  queue: FrozenMessage[];
  /** What Lambda hands over of a queue. */
  events: { requests: SQSEvent; deadLetters: SQSEvent };
  workflow: {
    definition: FrozenDefinition;
    execution: { name: string; input: { workspaceId: string; batchId: string }; output: unknown };
    /** What the tasks of an execution were given and answered, in order. */
    states: StateRun[];
    /** What completes a task that waits for its token. */
    taskOutput: unknown;
  };
  webhook: { headers: Record<string, string>; body: Record<string, unknown> };
  /** Answers of the authorizer, by what is special about the key. */
  authorizer: Record<string, { event: Record<string, unknown>; answer: Record<string, unknown> }>;
  /** What prepares a file for models. */
  attachment: { input: Record<string, unknown>; output: unknown };
}
