import { createSocket, type Socket } from 'node:dgram';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sendTrace } from '#runtime/observability/trace.ts';

let daemon: Socket;
let received: string[];
beforeEach(async () => {
  received = [];
  daemon = createSocket('udp4').on('message', (message) => received.push(message.toString()));
  await new Promise<void>((listening) => daemon.bind(0, '127.0.0.1', listening));
  vi.stubEnv('AWS_XRAY_DAEMON_ADDRESS', `127.0.0.1:${daemon.address().port}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await new Promise<void>((closed) => daemon.close(closed));
});

const whole = { name: 'send-message', start: 1000, end: 2500, outcome: 'fault' } as const;
const part = { name: 'consultant_lookup', start: 1100, end: 1200, outcome: 'ok' } as const;
const header = 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8';

it('tells the daemon of an invocation that is traced, as a part of Lambda’s segment', async () => {
  vi.stubEnv('_X_AMZN_TRACE_ID', `${header};Sampled=1;Lineage=1:1`);
  await sendTrace(whole, [part], { workspace_id: 'ws_1', batch_id: undefined });
  await expect.poll(() => received.length).toBe(1);
  const [first, second, ...others] = (received[0] ?? '').split('\n');
  expect([first, others]).toEqual(['{"format": "json", "version": 1}', []]);
  const id = expect.stringMatching(/^[0-9a-f]{16}$/);
  expect(JSON.parse(second ?? '')).toEqual({
    id,
    type: 'subsegment',
    trace_id: '1-5759e988-bd862e3fe1be46a994272793',
    parent_id: '53995c3f42cd8ad8',
    name: 'send-message',
    start_time: 1,
    end_time: 2.5,
    fault: true,
    annotations: { workspace_id: 'ws_1' },
    subsegments: [{ id, name: 'consultant_lookup', start_time: 1.1, end_time: 1.2 }],
  });
});

it('tells nothing of one that is not, or where there is no daemon', async () => {
  vi.stubEnv('_X_AMZN_TRACE_ID', `${header};Sampled=0`);
  await sendTrace(whole, [], {});
  vi.stubEnv('_X_AMZN_TRACE_ID', undefined);
  await sendTrace(whole, [], {});
  // Datagrams between sockets of one machine arrive in order.
  vi.stubEnv('_X_AMZN_TRACE_ID', `${header};Sampled=1`);
  await sendTrace({ ...whole, name: 'last' }, [], {});
  await expect.poll(() => received.length).toBeGreaterThan(0);
  expect(received.map((text) => JSON.parse(text.split('\n')[1] ?? '').name)).toEqual(['last']);
  vi.stubEnv('AWS_XRAY_DAEMON_ADDRESS', undefined);
  await sendTrace(whole, [], {});
});
