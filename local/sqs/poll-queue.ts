import { setTimeout as sleep } from 'node:timers/promises';
import { operatorCredentials } from '../iam/operator-credentials.ts';
import type { Credentials } from '../iam/signature.ts';
import type { InvocationResult } from '../lambda/invokable-function.ts';
import { callAwsJson } from '../wire/call-aws-json.ts';
import { failedMessages } from './failed-messages.ts';
import { createFairBacklog } from './fair-backlog.ts';
import type { EventSource } from './read-event-source.ts';
import { type ReceivedMessage, sqsRecord } from './sqs-record.ts';

export interface Poller {
  /** Stops receiving and invoking. Running invocations end when their function ends. */
  stop(): void;
}

interface PollOptions {
  /** Credentials of the function's role. */
  readonly credentials: Credentials;
  readonly source: EventSource;
  readonly endpoint: string;
  readonly queueUrl: string;
  readonly visibilitySeconds: number;
  /** Seconds until SQS redelivers failed messages. If undefined, the visibility timeout. */
  readonly redeliverySeconds: number | undefined;
  readonly region: string;
  /** Delivers each batch twice, concurrently or one after the other. AWS guarantees only at-least-once delivery. */
  readonly deliverTwice: boolean;
  onFailure(line: string): void;
}

interface BufferedMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  /** The message's entry in the event's `Records`. */
  readonly json: string;
  readonly bytes: number;
}

// SQS's limit of messages in one call.
const MAX_ENTRIES = 10;

// SQS's maximum for a long poll.
const WAIT_SECONDS = 20;

// One retry restores a broken connection. More frequent retries would only log more failures.
const RETRY_MILLISECONDS = 1000;

// The wait between calls of a throttled function. AWS documents only that it backs off gradually.
const FIRST_BACKOFF_MILLISECONDS = 100;
const MAX_BACKOFF_MILLISECONDS = 10_000;

// Enough to find other groups after a long one: about ten thousand messages that contain little more than ids.
const MAX_BUFFERED_BYTES = 64 * 1024 * 1024;

// The poller extends the visibility of buffered messages three times in each visibility timeout, ten messages a call.
// So 100 messages a second of the timeout are at most 30 calls a second.
const BUFFERED_PER_SECOND_OF_VISIBILITY = 100;

// Lambda's limit for an event, minus 1 KiB for the JSON around the records.
const PAYLOAD_BYTES = 6 * 1024 * 1024 - 1024;

/** Moves messages from a queue to a function: long polls, fair batches, deletes after success. */
export function pollQueue(options: PollOptions): Poller {
  const { source, queueUrl, visibilitySeconds } = options;
  const { target, batchSize, windowSeconds, concurrency } = source;
  const backlog = createFairBacklog<BufferedMessage>();
  let stopped = false;
  let bufferedBytes = 0;
  let running = 0;
  let batches = 0;
  let capacity = Promise.withResolvers<void>();
  let windowHasEnded = windowSeconds === 0;
  let window: NodeJS.Timeout | undefined;

  const call = <Output>(operation: string, input: object, credentials = options.credentials) => {
    const request = { QueueUrl: queueUrl, ...input };
    return callAwsJson<Output>(options.endpoint, `AmazonSQS.${operation}`, request, credentials);
  };

  async function receive(): Promise<void> {
    while (!stopped) {
      if (
        bufferedBytes >= MAX_BUFFERED_BYTES ||
        backlog.size >= visibilitySeconds * BUFFERED_PER_SECOND_OF_VISIBILITY
      ) {
        await capacity.promise;
        continue;
      }
      try {
        const { Messages = [] } = await call<{ Messages?: ReceivedMessage[] }>('ReceiveMessage', {
          MaxNumberOfMessages: MAX_ENTRIES,
          WaitTimeSeconds: WAIT_SECONDS,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
        });
        for (const message of Messages) buffer(message);
      } catch (error) {
        report(error);
        if (!stopped) await sleep(RETRY_MILLISECONDS);
      }
      dispatch();
    }
  }

  function buffer(message: ReceivedMessage): void {
    const json = JSON.stringify(sqsRecord(message, source.queueArn, options.region));
    const bytes = Buffer.byteLength(json) + 1;
    const { MessageId: messageId, ReceiptHandle: receiptHandle } = message;
    backlog.add(message.Attributes?.MessageGroupId ?? '', { messageId, receiptHandle, json, bytes });
    bufferedBytes += bytes;
    if (windowHasEnded || window) return;
    window = setTimeout(() => {
      windowHasEnded = true;
      dispatch();
    }, windowSeconds * 1000);
  }

  function dispatch(): void {
    while (
      !stopped &&
      running < concurrency &&
      backlog.size > 0 &&
      (windowHasEnded || backlog.size >= batchSize)
    ) {
      let bytes = 0;
      const batch = backlog.take(batchSize, (item) => {
        bytes += item.bytes;
        return bytes === item.bytes || bytes <= PAYLOAD_BYTES;
      });
      for (const item of batch) bufferedBytes -= item.bytes;
      void deliver(batch);
    }
    if (backlog.size === 0) {
      clearTimeout(window);
      window = undefined;
      windowHasEnded = windowSeconds === 0;
    }
    capacity.resolve();
    capacity = Promise.withResolvers();
  }

  async function deliver(batch: readonly BufferedMessage[]): Promise<void> {
    running += 1;
    batches += 1;
    try {
      // The visibility timeout starts now, however long the messages were buffered. If this call fails, the function is
      // invoked in any case: Lambda has received the messages.
      await changeVisibility(batch, visibilitySeconds).catch(report);
      const failed = await invoke(batch, options.deliverTwice ? 2 : 1, batches % 2 === 0);
      const done = batch.filter(({ messageId }) => !failed.has(messageId));
      const retried = batch.filter(({ messageId }) => failed.has(messageId));
      if (options.redeliverySeconds !== undefined) await changeVisibility(retried, options.redeliverySeconds);
      await inChunks(done, (Entries) => call('DeleteMessageBatch', { Entries }));
    } catch (error) {
      report(error);
    }
    running -= 1;
    dispatch();
  }

  /** Returns the ids of the messages that failed in every delivery. */
  async function invoke(
    batch: readonly BufferedMessage[],
    deliveries: number,
    concurrently: boolean,
  ): Promise<ReadonlySet<string>> {
    const payload = `{"Records":[${batch.map(({ json }) => json).join(',')}]}`;
    const ids = batch.map(({ messageId }) => messageId);
    const deliverOnce = async () => {
      const result = await invokeWithBackoff(payload);
      if (!result.succeeded && !stopped) options.onFailure(`${result.errorType}: ${result.errorMessage}`);
      return failedMessages(result, ids, source.reportsItemFailures);
    };
    if (deliveries === 1) return await deliverOnce();
    const attempts = concurrently
      ? await Promise.all([deliverOnce(), deliverOnce()])
      : [await deliverOnce(), await deliverOnce()];
    return new Set(ids.filter((id) => attempts.every((failed) => failed.has(id))));
  }

  /** As Lambda does, retries a throttled function until shortly before the messages become visible again. */
  async function invokeWithBackoff(payload: string): Promise<InvocationResult> {
    const visibleAt = performance.now() + visibilitySeconds * 1000;
    let backoff = FIRST_BACKOFF_MILLISECONDS;
    for (;;) {
      const result = await target.invoke(payload);
      const isThrottled = !result.succeeded && result.throttle !== undefined;
      if (!isThrottled || stopped || performance.now() + backoff >= visibleAt) return result;
      await sleep(backoff, undefined, { ref: false });
      backoff = Math.min(2 * backoff, MAX_BACKOFF_MILLISECONDS);
    }
  }

  function changeVisibility(items: readonly BufferedMessage[], VisibilityTimeout: number): Promise<void> {
    return inChunks(items, (entries) =>
      // Lambda does this without the function's role: the role needs no permission for it.
      call(
        'ChangeMessageVisibilityBatch',
        { Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout })) },
        operatorCredentials,
      ),
    );
  }

  function report(error: unknown): void {
    if (!stopped) options.onFailure(`The event source failed: ${String(error)}`);
  }

  // Without this, SQS would redeliver messages that are still buffered here.
  let isExtending = false;
  const extendVisibility = setInterval(
    async () => {
      if (isExtending) return;
      isExtending = true;
      await changeVisibility(backlog.items(), visibilitySeconds).catch(report);
      isExtending = false;
    },
    (visibilitySeconds * 1000) / 3,
  );
  void receive();

  return {
    stop() {
      stopped = true;
      clearInterval(extendVisibility);
      clearTimeout(window);
      capacity.resolve();
    },
  };
}

async function inChunks(
  items: readonly BufferedMessage[],
  send: (entries: { Id: string; ReceiptHandle: string }[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += MAX_ENTRIES) {
    const chunk = items.slice(start, start + MAX_ENTRIES);
    await send(
      chunk.map(({ receiptHandle }, index) => ({ Id: String(index), ReceiptHandle: receiptHandle })),
    );
  }
}
