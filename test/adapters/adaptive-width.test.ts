import { createServer, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { itemClientSettings, optimizedClient } from '#adapters/dynamo/item-client/item-client.ts';
import { adaptWidth } from '#adapters/dynamo/table/back-off.ts';
import { keyScanner } from '#adapters/dynamo/table/lists.ts';
import { DeadlineRetries, retryWhile } from '#runtime/environment/environment.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { listenLocally } from '#support/listen-locally.ts';

interface Call {
  scan: { Segment: number; ExclusiveStartKey?: { pk: { S: string } } };
  response: ServerResponse;
}

let onCall: (call: Call) => void = () => {};
const { url } = closeAfterTests(
  await listenLocally(
    createServer(async (request, response) => {
      const scan = (await json(request)) as Call['scan'];
      response.setHeader('Content-Type', 'application/x-amz-json-1.0');
      onCall({ scan, response });
    }),
  ),
);

const open = (retries: object) =>
  optimizedClient(
    new DynamoDBClient({
      ...itemClientSettings,
      ...{ endpoint: url, region: 'us-east-1', ...retries },
      credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    }),
  );

const throttle = ({ response }: Call): void => {
  const __type = 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException';
  response.writeHead(400).end(JSON.stringify({ __type, message: 'Slow down' }));
};
const breakOff = ({ response }: Call): void => void response.socket?.destroy();
const reject = ({ response }: Call): void =>
  void response.writeHead(400).end(JSON.stringify({ __type: 'ValidationException', message: 'Wrong' }));
const respond = ({ response }: Call): void => void response.end('{"Items":[]}');

it('halves the calls that run at once after a failure of many, and has one more after twenty successes', async () => {
  const client = open({ maxAttempts: 1 });
  adaptWidth(client, 8);
  let waiting: Call[] = [];
  onCall = (call) => void waiting.push(call);
  const calls = Array.from({ length: 120 }, () => client.send(new ScanCommand({ TableName: 'table' })));
  const ended = Promise.allSettled(calls);
  /** Ends the calls that run, and waits for those that come then. */
  const expectNext = async (end: (call: Call) => void, next: number) => {
    const running = waiting;
    waiting = [];
    for (const call of running) end(call);
    await expect.poll(() => waiting.length, { interval: 2 }).toBe(next);
  };
  await expectNext(respond, 8);
  await expectNext(throttle, 4);
  await expectNext(breakOff, 2);
  await expectNext(reject, 2);
  await expectNext(throttle, 1);
  await expectNext(throttle, 1);
  for (let success = 1; success < 20; success += 1) await expectNext(respond, 1);
  await expectNext(respond, 2);
  for (let success = 22; success < 40; success += 2) await expectNext(respond, 2);
  await expectNext(respond, 3);
  onCall = respond;
  for (const call of waiting) respond(call);
  await ended;
});

it('scans each page of each segment once, whatever fails', async () => {
  retryWhile(() => Number.POSITIVE_INFINITY);
  const pages = 3;
  let calls = 0;
  onCall = (call) => {
    const { Segment, ExclusiveStartKey: start } = call.scan;
    calls += 1;
    if (calls % 5 === 0) return throttle(call);
    if (calls % 7 === 0) return breakOff(call);
    const page = start === undefined ? 0 : Number(start.pk.S.split(' ')[1]) + 1;
    const key = { pk: { S: `${Segment} ${page}` }, sk: { S: 'x' } };
    const last = page === pages - 1 ? {} : { LastEvaluatedKey: key };
    call.response.end(JSON.stringify({ Items: [key], ...last }));
  };
  const read: string[] = [];
  const scan = keyScanner(open({ retryStrategy: new DeadlineRetries(2) }), 'table');
  await scan([], async (page) => void read.push(...page.map(({ pk }) => String(pk))));
  const segments = Array.from({ length: 8 }, (_, segment) => [0, 1, 2].map((page) => `${segment} ${page}`));
  expect(read.toSorted()).toEqual(segments.flat());
});
