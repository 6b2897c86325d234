import type { Batch } from './batch.ts';

export interface BatchWorkflow {
  /** Starts the execution of the batch's run; one that was started before is left as it is. */
  start(batch: Batch): Promise<void>;
  /** Of the execution of the batch's run. */
  stateOf(batch: Batch): Promise<'none' | 'running' | 'ended'>;
  /** Ends the workflow's wait. False when nobody waits with this token. */
  completeTaskCallback(taskToken: string): Promise<boolean>;
}
