import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  InvalidToken,
  SendTaskSuccessCommand,
  type SFNClient,
  StartExecutionCommand,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchWorkflow } from '#domain/batches/batch-workflow.ts';

/** @param machineArn called only to start or describe an execution; completing a task callback does not need it */
export function stepFunctionsBatchWorkflow(client: SFNClient, machineArn: () => string): BatchWorkflow {
  const nameOf = ({ id, executionNumber }: Batch): string => `${id}-${executionNumber}`;
  return {
    async start(batch) {
      try {
        await client.send(
          new StartExecutionCommand({
            stateMachineArn: machineArn(),
            name: nameOf(batch),
            input: JSON.stringify({ workspaceId: batch.workspaceId, batchId: batch.id }),
          }),
        );
      } catch (error) {
        if (!(error instanceof ExecutionAlreadyExists)) throw error;
      }
    },

    async stateOf(batch) {
      const executionArn = `${machineArn().replace(':stateMachine:', ':execution:')}:${nameOf(batch)}`;
      try {
        const { status } = await client.send(new DescribeExecutionCommand({ executionArn }));
        return status === 'RUNNING' || status === 'PENDING_REDRIVE' ? 'running' : 'ended';
      } catch (error) {
        if (error instanceof ExecutionDoesNotExist) return 'none';
        throw error;
      }
    },

    async completeTaskCallback(taskToken) {
      try {
        await client.send(new SendTaskSuccessCommand({ taskToken, output: '{}' }));
        return true;
      } catch (error) {
        if (
          error instanceof TaskTimedOut ||
          error instanceof TaskDoesNotExist ||
          error instanceof InvalidToken
        )
          return false;
        throw error;
      }
    },
  };
}
