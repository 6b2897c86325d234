import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { clientOptions, startBackground } from './fixture/start-background.ts';

// Failed messages are redelivered at once, yet a slow start on a busy machine does not cause a second delivery.
const run = closeAfterTests(await startBackground({ redeliverySeconds: 0 }));
const sqs = new SQSClient(clientOptions(run.endpoints.sqs));

const send = (queue: string, body: string, group?: string) =>
  sqs.send(
    new SendMessageCommand({
      QueueUrl: run.ref(queue),
      MessageBody: body,
      ...(group && { MessageGroupId: group }),
    }),
  );

const records = (functionName: string) =>
  run.events<SQSEvent>(functionName).flatMap(({ Records }) => Records ?? []);
const deliveries = (functionName: string, body: string) =>
  records(functionName).filter((record) => record.body === body);

/** The number of messages in the queue: visible, delayed and in flight. */
async function depth(queue: string, kinds = ['', 'Delayed', 'NotVisible']): Promise<number> {
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: run.ref(queue), AttributeNames: ['All'] }),
  );
  return kinds
    .map((suffix) => Number((Attributes as Record<string, string>)[`ApproximateNumberOfMessages${suffix}`]))
    .reduce((sum, count) => sum + count);
}

describe('a queue', () => {
  it('has the attributes of the template', async () => {
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: run.ref('Work'), AttributeNames: ['All'] }),
    );
    expect(Attributes).toMatchObject({
      QueueArn: expect.stringMatching(/^arn:aws:sqs:us-east-1:000000000000:Background-Work/),
      VisibilityTimeout: '30',
      MessageRetentionPeriod: String(14 * 24 * 60 * 60),
    });
    expect(JSON.parse(Attributes?.RedrivePolicy ?? '')).toMatchObject({
      deadLetterTargetArn: expect.stringMatching(/:Background-Dead/),
      maxReceiveCount: 2,
    });
  });

  it('is found by its name under the same URL', async () => {
    const QueueUrl = run.ref('Loose');
    const found = await sqs.send(new GetQueueUrlCommand({ QueueName: QueueUrl.split('/').pop() ?? '' }));
    expect(found.QueueUrl).toBe(QueueUrl);
  });

  it('keeps the group of messages sent alone or together, and shows what is asked for', async () => {
    const QueueUrl = run.ref('Loose');
    const alone = await sqs.send(
      new SendMessageCommand({ QueueUrl, MessageBody: 'alone', MessageGroupId: 'g1' }),
    );
    const together = await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl,
        Entries: [{ Id: 'a', MessageBody: 'together', MessageGroupId: 'g2' }],
      }),
    );
    expect(alone.MD5OfMessageAttributes).toBeUndefined();
    expect(together.Successful?.[0]?.MD5OfMessageAttributes).toBeUndefined();

    const shown = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl,
        MaxNumberOfMessages: 10,
        MessageSystemAttributeNames: ['MessageGroupId'],
        MessageAttributeNames: ['All'],
      }),
    );
    expect(
      shown.Messages?.map(({ Body, Attributes, MessageAttributes }) => [Body, Attributes, MessageAttributes]),
    ).toEqual([
      ['alone', { MessageGroupId: 'g1' }, undefined],
      ['together', { MessageGroupId: 'g2' }, undefined],
    ]);
    await expect(
      sqs.send(
        new SendMessageCommand({
          QueueUrl,
          MessageBody: 'x',
          MessageAttributes: { color: { DataType: 'String', StringValue: 'blue' } },
        }),
      ),
    ).rejects.toThrow('Attributes of a message are not available locally');
    const repeated = await vi.waitFor(async () => {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 2 }));
      expect(Messages).toHaveLength(1);
      return Messages[0];
    }, 5000);
    expect(repeated).not.toHaveProperty('MessageAttributes');
    expect(repeated).not.toHaveProperty('Attributes');
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: repeated?.ReceiptHandle }));
  });

  it('is reached from a function by a client without options', async () => {
    run.script('Simple', () => ({
      calls: [
        {
          service: 'sqs',
          operation: 'SendMessage',
          input: { QueueUrl: run.ref('Work'), MessageBody: 'relayed' },
        },
      ],
    }));
    await send('Plain', 'relay');
    await vi.waitFor(() => expect(deliveries('Worker', 'relayed')).toHaveLength(1), 60_000);
    run.script('Simple', () => ({}));
  });
});

describe('an event', () => {
  it('has the form of Lambda', async () => {
    const { MessageId, MD5OfMessageBody } = await sqs.send(
      new SendMessageCommand({
        QueueUrl: run.ref('Work'),
        MessageBody: 'shape',
        MessageGroupId: 'tenant',
      }),
    );
    await vi.waitFor(() => expect(deliveries('Worker', 'shape')).toHaveLength(1), 60_000);
    const number = expect.stringMatching(/^\d+$/);
    expect(deliveries('Worker', 'shape')[0]).toEqual({
      messageId: MessageId,
      receiptHandle: expect.any(String),
      body: 'shape',
      md5OfBody: MD5OfMessageBody,
      attributes: {
        ApproximateReceiveCount: '1',
        SentTimestamp: number,
        SenderId: number,
        ApproximateFirstReceiveTimestamp: number,
        MessageGroupId: 'tenant',
      },
      messageAttributes: {},
      eventSource: 'aws:sqs',
      eventSourceARN: expect.stringMatching(/^arn:aws:sqs:us-east-1:000000000000:Background-Work/),
      awsRegion: 'us-east-1',
    });
    await vi.waitFor(async () => expect(await depth('Work')).toBe(0), 60_000);
  });
});

describe('a batch', () => {
  it('comes again only with the messages that the function reported', async () => {
    run.script('Worker', ({ Records }: SQSEvent) => ({
      returns: {
        batchItemFailures: Records.filter(
          ({ body, attributes }) => body === 'bad' && attributes.ApproximateReceiveCount === '1',
        ).map(({ messageId }) => ({ itemIdentifier: messageId })),
      },
    }));
    await Promise.all(['good', 'bad'].map((body) => send('Work', body)));
    await vi.waitFor(() => expect(deliveries('Worker', 'bad')).toHaveLength(2), 60_000);
    expect(deliveries('Worker', 'good')).toHaveLength(1);
    await vi.waitFor(async () => expect(await depth('Work')).toBe(0), 60_000);
  });

  it.each([
    ['names a message that is not in it', { batchItemFailures: [{ itemIdentifier: 'unknown' }] }],
    ['has entries without a name', { batchItemFailures: [{ id: 'x' }] }],
    ['is no object', 'text'],
  ])('comes again whole when the answer %s', async (name, returns) => {
    run.script('Worker', ({ Records }: SQSEvent) =>
      Records[0]?.attributes.ApproximateReceiveCount === '1' ? { returns } : {},
    );
    await send('Work', name);
    await vi.waitFor(() => expect(deliveries('Worker', name)).toHaveLength(2), 60_000);
    await vi.waitFor(async () => expect(await depth('Work')).toBe(0), 60_000);
  });

  it('that fails comes again, then goes to the dead-letter queue and its function', async () => {
    run.script('Worker', () => ({ throws: { name: 'Broken', message: 'on purpose' } }));
    await send('Work', 'hopeless', 'tenant');
    await vi.waitFor(() => expect(deliveries('Undertaker', 'hopeless')).toHaveLength(1), 60_000);
    expect(
      deliveries('Worker', 'hopeless').map((record) => record.attributes.ApproximateReceiveCount),
    ).toEqual(['1', '2']);
    expect(deliveries('Undertaker', 'hopeless')[0]).toMatchObject({
      attributes: { MessageGroupId: 'tenant' },
      eventSourceARN: expect.stringMatching(/:Background-Dead/),
    });
    expect(run.logs).toContain('Broken: on purpose');
    run.script('Worker', () => ({}));
    await vi.waitFor(async () => expect(await depth('Dead')).toBe(0), 60_000);
  });

  it('whose function is killed is delivered again', async () => {
    const reached = Promise.withResolvers<void>();
    run.script('Worker', ({ Records }: SQSEvent) => {
      if (Records[0]?.attributes.ApproximateReceiveCount !== '1') return {};
      reached.resolve();
      return new Promise(() => {});
    });
    await send('Work', 'killed');
    await reached.promise;
    expect(run.killWorkers('Worker')).toBeGreaterThan(0);
    await vi.waitFor(() => expect(deliveries('Worker', 'killed')).toHaveLength(2), 60_000);
    run.script('Worker', () => ({}));
    await vi.waitFor(async () => expect(await depth('Work')).toBe(0), 60_000);
  });
});

describe('invocations', () => {
  it('overlap up to the maximum, and groups take turns in what waits', async () => {
    const waiting: (() => void)[] = [];
    const order: string[] = [];
    let most = 0;
    run.script('Simple', async ({ Records }: SQSEvent) => {
      order.push(Records[0]?.attributes.MessageGroupId ?? '');
      const released = new Promise<void>((resolve) => waiting.push(resolve));
      most = Math.max(most, waiting.length);
      await released;
      return {};
    });
    for (let count = 0; count < 30; count += 1) await send('Plain', `many-${count}`, 'many');
    for (let count = 0; count < 3; count += 1) await send('Plain', `few-${count}`, 'few');
    while (order.length < 33) {
      await vi.waitFor(() => expect(waiting.length).toBeGreaterThan(0), 60_000);
      if (order.length === 2)
        await vi.waitFor(async () => expect(await depth('Plain', ['NotVisible'])).toBe(33), 60_000);
      waiting.shift()?.();
      await vi.waitFor(() => expect(order.length === 33 || waiting.length === 2).toBe(true), 60_000);
    }
    for (const release of waiting) release();
    run.script('Simple', () => ({}));
    expect(most).toBe(2);
    expect(order.filter((group) => group === 'few')).toHaveLength(3);
    expect(order.lastIndexOf('few')).toBeLessThan(9);
    await vi.waitFor(async () => expect(await depth('Plain')).toBe(0), 60_000);
    expect(records('Simple').filter(({ body }) => /^(many|few)-/.test(body))).toHaveLength(33);
  });
});
