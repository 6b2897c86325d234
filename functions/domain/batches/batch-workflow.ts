import type { Batch } from './batch.ts';

export interface BatchWorkflow {
  /** Starts the execution with the batch's execution number; does nothing if it was started before. */
  start(batch: Batch): Promise<void>;
  /** The state of the execution with the batch's execution number. */
  stateOf(batch: Batch): Promise<'none' | 'running' | 'ended'>;
  /** Ends the wait of the workflow. False if no task waits with this token. */
  completeTaskCallback(taskToken: string): Promise<boolean>;
}
