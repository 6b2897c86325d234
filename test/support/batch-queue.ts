import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { keys } from '#adapters/dynamo/table/keys.ts';
import { dataTableOf, operatorAt } from './data-table.ts';
import type { Service } from './service.ts';

/** Sends the message of the first slot of a batch, as the reconciler does when the slot is silent. */
export async function offerSlot(
  service: Service,
  { workspaceId, batchId }: { workspaceId: string; batchId: string },
): Promise<void> {
  const table = dataTableOf(service);
  const { slots } = (await table.read(keys.batch(workspaceId, batchId))) as { slots: { 1: { e: number } } };
  table.close();
  const [, QueueUrl] =
    Object.entries(service.run.physicalIds).find(([id]) => id.startsWith('BatchesRequests')) ?? [];
  const sqs = new SQSClient({ ...operatorAt(service.run.endpoints.sqs), useQueueUrlAsEndpoint: false });
  const MessageBody = JSON.stringify({ workspaceId, batchId, slot: 1, epoch: slots[1].e });
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: workspaceId }));
  sqs.destroy();
}
