import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { Service } from './service.ts';

/** Sends a message for one request of a batch to one of the queues, as a second copy of that message. */
export async function queueRequest(
  { run }: Pick<Service, 'run'>,
  queue: 'BatchesRequests' | 'BatchesDeadLetters',
  request: { workspaceId: string; batchId: string; position: number; holdsPlace: boolean },
): Promise<void> {
  const { workspaceId, batchId, position, holdsPlace } = request;
  const [, QueueUrl] = Object.entries(run.physicalIds).find(([id]) => id.startsWith(queue)) ?? [];
  const sqs = new SQSClient({
    endpoint: run.endpoints.sqs,
    region: 'us-east-1',
    credentials: operatorCredentials,
    useQueueUrlAsEndpoint: false,
  });
  const MessageBody = JSON.stringify({ workspaceId, batchId, positions: [position], holdsPlace });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: workspaceId }));
  sqs.destroy();
}
