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
import {
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import type { Batch } from '#domain/batches/batch.ts';
import type { BatchQueue, BatchWorkflow } from '#domain/batches/batch-store.ts';
import type { PurgeQueue } from '#domain/chats/purge.ts';
import { groupsOf } from '#domain/platform/services.ts';

/** SQS's maximum of messages in one call. */
const messagesPerCall = 10;

/**
 * The message group is the workspace, for fair queues.
 * @param delay in seconds
 * @throws Error if the queue rejects a message; no further call of SQS is made then
 */
async function sendMessages(
  client: SQSClient,
  QueueUrl: string,
  messages: readonly { workspaceId: string }[],
  delay = 0,
): Promise<void> {
  for (const group of groupsOf(messages, messagesPerCall)) {
    const Entries = group.map(
      (message, index): SendMessageBatchRequestEntry => ({
        Id: String(index),
        MessageBody: JSON.stringify(message),
        MessageGroupId: message.workspaceId,
        ...(delay > 0 && { DelaySeconds: delay }),
      }),
    );
    const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl, Entries }));
    const [failure] = Failed;
    if (failure !== undefined)
      throw new Error(`The queue rejected ${Failed.length} messages: ${failure.Code}`);
  }
}

export const sqsBatchQueue = (client: SQSClient, QueueUrl: string): BatchQueue => ({
  send: (messages, delay) => sendMessages(client, QueueUrl, messages, delay),
  async isFilled() {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['ApproximateNumberOfMessages'] }),
    );
    return Attributes.ApproximateNumberOfMessages !== '0';
  },
});

export const sqsPurgeQueue = (client: SQSClient, url: string): PurgeQueue => ({
  send: (purges) => sendMessages(client, url, purges),
});

/** @param machineArn called only to start or describe an execution */
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
        const isEnded = [TaskTimedOut, TaskDoesNotExist, InvalidToken].some((end) => error instanceof end);
        if (isEnded) return false;
        throw error;
      }
    },
  };
}
