import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import type { ConcurrencyPlan } from './concurrency.ts';
import { purgeTimeoutSeconds } from './function-table.ts';
import type { ServiceFunction } from './service-function.ts';

/** After five failures, the chat itself is probably the cause. The reconciler continues to enqueue its purge. */
const maxDeliveries = 5;

/** Purges the data of deleted chats and users: a queue with its function. */
export class ChatPurge extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(
    scope: Construct,
    id: string,
    props: { purger: ServiceFunction; reconciler: ServiceFunction; concurrency: ConcurrencyPlan },
  ) {
    super(scope, id);
    this.deadLetters = this.createQueue('DeadLetters');
    this.queue = this.createQueue('Purges', this.deadLetters);
    props.purger.receivesFrom(this.queue, { batchSize: 10, maxConcurrency: props.concurrency.purgers });
    this.isFilledBy(props.reconciler);
    this.isFilledBy(props.purger);
  }

  isFilledBy(handler: ServiceFunction): void {
    handler.sendsTo(this.queue, variables.purgeQueueUrl);
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
