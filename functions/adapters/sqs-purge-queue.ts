import type { SQSClient } from '@aws-sdk/client-sqs';
import type { PurgeQueue } from '#domain/chats/purge.ts';
import { sendMessages } from './sqs-batch-queue.ts';

export const sqsPurgeQueue = (client: SQSClient, url: string): PurgeQueue => ({
  send: (purges) => sendMessages(client, url, purges),
});
