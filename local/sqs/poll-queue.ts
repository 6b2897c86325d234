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
  /** Nothing is received or invoked any more; invocations under way end with their function. */
  stop(): void;
}

interface PollOptions {
  /** Of the function's role. */
  readonly credentials: Credentials;
  readonly source: EventSource;
  readonly endpoint: string;
  readonly queueUrl: string;
  readonly visibilitySeconds: number;
  /** Of messages that a function failed; the visibility time-out unless given. */
  readonly redeliverySeconds: number | undefined;
  readonly region: string;
  /** At least once, as AWS promises and rarely does: a batch comes twice, at the same time or one after the other. */
  readonly deliverTwice: boolean;
  onFailure(line: string): void;
}

interface HeldMessages {
  readonly messageId: string;
  readonly receiptHandle: string;
  /** The event's record. */
  readonly json: string;
  readonly bytes: number;
}

// What SQS gives at once and takes at once.
const ENTRIES_AT_ONCE = 10;

// SQS's longest poll.
const WAIT_SECONDS = 20;

// A connection that broke is made anew at once; more would only be heard more often.
const RETRY_MILLISECONDS = 1000;

// Between the calls of a function that Lambda throttles: AWS only says that it backs off gradually.
const FIRST_BACKOFF_MILLISECONDS = 100;
const LONGEST_BACKOFF_MILLISECONDS = 10_000;

// How far behind a long group others are found: some ten thousand messages that carry little more than ids.
const HELD_BYTES = 64 * 1024 * 1024;

// They are kept hidden three times in each visibility time-out, ten by one call: thirty calls a second at most.
const HELD_PER_SECOND_OF_VISIBILITY = 100;

// Lambda's limit for an event, less the frame around the records.
const PAYLOAD_BYTES = 6 * 1024 * 1024 - 1024;

/** Moves messages from a queue to a function: long polls, fair batches, deletes after success. */
export function pollQueue(options: PollOptions): Poller {
  const { source, queueUrl, visibilitySeconds } = options;
  const { target, batchSize, windowSeconds, concurrency } = source;
  const backlog = createFairBacklog<HeldMessages>();
  let stopped = false;
  let heldBytes = 0;
  let running = 0;
  let batches = 0;
  let room = Promise.withResolvers<void>();
  let windowIsOver = windowSeconds === 0;
  let window: NodeJS.Timeout | undefined;

  const call = <Output>(operation: string, input: object, credentials = options.credentials) => {
    const whole = { QueueUrl: queueUrl, ...input };
    return callAwsJson<Output>(options.endpoint, `AmazonSQS.${operation}`, whole, credentials);
  };

  async function receive(): Promise<void> {
    while (!stopped) {
      if (heldBytes >= HELD_BYTES || backlog.size >= visibilitySeconds * HELD_PER_SECOND_OF_VISIBILITY) {
        await room.promise;
        continue;
      }
      try {
        const { Messages = [] } = await call<{ Messages?: ReceivedMessage[] }>('ReceiveMessage', {
          MaxNumberOfMessages: ENTRIES_AT_ONCE,
          WaitTimeSeconds: WAIT_SECONDS,
          MessageSystemAttributeNames: ['All'],
          MessageAttributeNames: ['All'],
        });
        for (const message of Messages) hold(message);
      } catch (error) {
        report(error);
        if (!stopped) await sleep(RETRY_MILLISECONDS);
      }
      dispatch();
    }
  }

  function hold(message: ReceivedMessage): void {
    const json = JSON.stringify(sqsRecord(message, source.queueArn, options.region));
    const bytes = Buffer.byteLength(json) + 1;
    const { MessageId: messageId, ReceiptHandle: receiptHandle } = message;
    backlog.add(message.Attributes?.MessageGroupId ?? '', { messageId, receiptHandle, json, bytes });
    heldBytes += bytes;
    if (windowIsOver || window) return;
    window = setTimeout(() => {
      windowIsOver = true;
      dispatch();
    }, windowSeconds * 1000);
  }

  function dispatch(): void {
    while (
      !stopped &&
      running < concurrency &&
      backlog.size > 0 &&
      (windowIsOver || backlog.size >= batchSize)
    ) {
      let bytes = 0;
      const batch = backlog.take(batchSize, (item) => {
        bytes += item.bytes;
        return bytes === item.bytes || bytes <= PAYLOAD_BYTES;
      });
      for (const item of batch) heldBytes -= item.bytes;
      void deliver(batch);
    }
    if (backlog.size === 0) {
      clearTimeout(window);
      window = undefined;
      windowIsOver = windowSeconds === 0;
    }
    room.resolve();
    room = Promise.withResolvers();
  }

  async function deliver(batch: readonly HeldMessages[]): Promise<void> {
    running += 1;
    batches += 1;
    try {
      // Its time begins now, however long it was held. A queue that is down for a moment stops no call: Lambda has
      // received the messages.
      await changeVisibility(batch, visibilitySeconds).catch(report);
      const failed = await invoke(batch, options.deliverTwice ? 2 : 1, batches % 2 === 0);
      const done = batch.filter(({ messageId }) => !failed.has(messageId));
      const retried = batch.filter(({ messageId }) => failed.has(messageId));
      if (options.redeliverySeconds !== undefined) await changeVisibility(retried, options.redeliverySeconds);
      await inPortions(done, (Entries) => call('DeleteMessageBatch', { Entries }));
    } catch (error) {
      report(error);
    }
    running -= 1;
    dispatch();
  }

  /** What failed every time. */
  async function invoke(
    batch: readonly HeldMessages[],
    times: number,
    together: boolean,
  ): Promise<ReadonlySet<string>> {
    const payload = `{"Records":[${batch.map(({ json }) => json).join(',')}]}`;
    const ids = batch.map(({ messageId }) => messageId);
    const once = async () => {
      const result = await invokeWhenIdle(payload);
      if (!result.succeeded && !stopped) options.onFailure(`${result.errorType}: ${result.errorMessage}`);
      return failedMessages(result, ids, source.reportsItemFailures);
    };
    if (times === 1) return await once();
    const attempts = together ? await Promise.all([once(), once()]) : [await once(), await once()];
    return new Set(ids.filter((id) => attempts.every((failed) => failed.has(id))));
  }

  /** Lambda calls a throttled function again until the messages are visible again, and then lets go of them. */
  async function invokeWhenIdle(payload: string): Promise<InvocationResult> {
    const visibleAt = performance.now() + visibilitySeconds * 1000;
    let backoff = FIRST_BACKOFF_MILLISECONDS;
    for (;;) {
      const result = await target.invoke(payload);
      const isThrottled = !result.succeeded && result.throttle !== undefined;
      if (!isThrottled || stopped || performance.now() + backoff >= visibleAt) return result;
      await sleep(backoff, undefined, { ref: false });
      backoff = Math.min(2 * backoff, LONGEST_BACKOFF_MILLISECONDS);
    }
  }

  function changeVisibility(items: readonly HeldMessages[], VisibilityTimeout: number): Promise<void> {
    return inPortions(items, (entries) =>
      // Lambda keeps the time of messages by itself: the role need not have the permission.
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

  // So that no message comes again while it waits here for its turn.
  let hiding = false;
  const extendVisibility = setInterval(
    async () => {
      if (hiding) return;
      hiding = true;
      await changeVisibility(backlog.items(), visibilitySeconds).catch(report);
      hiding = false;
    },
    (visibilitySeconds * 1000) / 3,
  );
  void receive();

  return {
    stop() {
      stopped = true;
      clearInterval(extendVisibility);
      clearTimeout(window);
      room.resolve();
    },
  };
}

async function inPortions(
  items: readonly HeldMessages[],
  send: (entries: { Id: string; ReceiptHandle: string }[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += ENTRIES_AT_ONCE) {
    const portion = items.slice(start, start + ENTRIES_AT_ONCE);
    await send(
      portion.map(({ receiptHandle }, index) => ({ Id: String(index), ReceiptHandle: receiptHandle })),
    );
  }
}
