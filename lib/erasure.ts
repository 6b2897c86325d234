import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { hour } from './alarms.ts';
import { gets, type Need, reads, sendsTo } from './needs.ts';
import type { Platform } from './platform.ts';
import type { ServiceFunction } from './service-function.ts';
import { serviceMetric } from './service-metric.ts';
import type { Writes } from './written-items.ts';

/** A run of a purge starts no further page after 30 s. The rest is for slow calls and their retries. */
const purgeTimeoutSeconds = 300;

/** The reconciler enqueues a purge again that has become a dead letter. */
const maxDeliveries = 5;

/** The next hourly run does the work of a lost one. */
const untilNextRun = Duration.minutes(50);

const chatDeletions = {
  PutItem: ['operatorsPurges'],
  UpdateItem: ['chatLists', 'users'],
  DeleteItem: ['chats', 'chatLists', 'users'],
} as const satisfies Writes;

export class Erasure extends Construct {
  private readonly queue: Queue;

  constructor(
    scope: Construct,
    id: string,
    platform: Platform,
    { reconciler }: { /** Enqueues the purges that have not ended. */ reconciler: ServiceFunction },
  ) {
    super(scope, id);
    this.queue = this.createQueue('Purges', this.createQueue('DeadLetters'));
    const enqueue = sendsTo(this.queue, 'purgeQueueUrl');
    enqueue(reconciler);
    this.createRoutes(platform, enqueue);
    this.createPurger(platform, enqueue);
    this.scheduleUnusedChats(platform, enqueue);
    // There is no alarm for dead letters: they appear later than this alarm.
    platform.alarms.add('PurgesOverdue', {
      summary: 'The data of deleted chats is not purged an hour after the deletion.',
      metric: serviceMetric(this, 'overduePurges', {}, { statistic: 'Maximum' }),
      threshold: 1,
      periods: [2, 2],
    });
  }

  private createRoutes(platform: Platform, enqueue: Need): void {
    const route = platform.routes('FileAndDeletion');
    route(
      'delete-chat',
      platform.data(gets, { ...chatDeletions, UpdateItem: [...chatDeletions.UpdateItem, 'rateBuckets'] }),
      enqueue,
    );
    route(
      'delete-file',
      platform.data(['GetItem', 'Query'], {
        UpdateItem: ['files', 'rateBuckets'],
        BatchWriteItem: ['files'],
      }),
      platform.content('DeleteObject'),
      platform.files('DeleteObject'),
    );
    route(
      'erase-user',
      platform.data(['GetItem', 'Query'], {
        PutItem: ['audit', 'auditKeys', 'operatorsAudit', 'operatorsPurges'],
        UpdateItem: ['rateBuckets'],
      }),
      enqueue,
    );
  }

  private createPurger(platform: Platform, enqueue: Need): void {
    const purger = platform.task(
      'purge-chat',
      {
        description: 'Deletes the data of deleted chats and users',
        timeoutSeconds: purgeTimeoutSeconds,
        group: 'FileAndDeletion',
        throttlesUnseen: true,
      },
      platform.data(reads, {
        PutItem: chatDeletions.PutItem,
        UpdateItem: [...chatDeletions.UpdateItem, 'batches', 'chats', 'files', 'operatorsPurges'],
        DeleteItem: [...chatDeletions.DeleteItem, 'operatorsPurges'],
        BatchWriteItem: ['chats', 'files', 'users'],
      }),
      platform.content('ListBucket', 'DeleteObject'),
      platform.files('DeleteObject'),
      enqueue,
    );
    purger.receivesFrom(this.queue, { batchSize: 10, maxConcurrency: platform.concurrency.purgers });
  }

  private scheduleUnusedChats(platform: Platform, enqueue: Need): void {
    const description = 'Deletes the chats that are unused for longer than their workspace retains them';
    const handler = platform.task(
      'delete-unused-chats',
      // A run starts no page after four minutes. In no alarm group: the alarm of a group needs crashes in two of five
      // minutes, and this function runs once an hour.
      { description, timeoutSeconds: 300 },
      platform.data(reads, {
        ...chatDeletions,
        UpdateItem: [...chatDeletions.UpdateItem, 'operatorsRetention'],
      }),
      enqueue,
    );
    const rule = { scope: this, id: 'UnusedChats', description, maxEventAge: untilNextRun };
    handler.runsEvery(Duration.hours(1), rule);
    platform.alarms.addForSchedule('RetentionSilent', {
      summary: 'The deletion of unused chats has not run successfully for three hours.',
      handler,
      queue: this.queue,
      period: hour,
    });
  }

  private createQueue(id: string, deadLetters?: Queue): Queue {
    return new Queue(this, id, {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      // AWS recommends six times the function's timeout.
      visibilityTimeout: Duration.seconds(6 * purgeTimeoutSeconds),
      ...(deadLetters !== undefined && {
        deadLetterQueue: { queue: deadLetters, maxReceiveCount: maxDeliveries },
      }),
    });
  }
}
