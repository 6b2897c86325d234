import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import process from 'node:process';
import { log } from './log.ts';

/** A part of an invocation; times in milliseconds since the epoch. */
export interface TracedPart {
  name: string;
  start: number;
  end: number;
  /** `error`: a client's; `fault`: ours, or of a service that we ask. */
  outcome: 'ok' | 'error' | 'fault';
}

/** What an invocation was about, to search traces by: X-Ray indexes fifty of a trace. */
type Annotations = Readonly<Record<string, string | undefined>>;

interface Subsegment {
  id: string;
  name: string;
  start_time: number;
  end_time: number;
  error?: true;
  fault?: true;
}

/** A datagram to the daemon may have 64 KB: so many parts are 10. */
const partsAtMost = 100;

let socket: Socket | undefined;

/**
 * Tells X-Ray of an invocation, when it is one that Lambda traces: a datagram to the daemon beside the function, which
 * costs what it takes to write one. Without a daemon, as on a local run, or without a sample, it does nothing.
 * @returns when it is on its way; it never fails
 */
export async function sendTrace(
  whole: TracedPart,
  parts: readonly TracedPart[],
  annotations: Annotations,
): Promise<void> {
  const [host, port] = (process.env.AWS_XRAY_DAEMON_ADDRESS ?? '').split(':');
  // Root=1-…;Parent=…;Sampled=1, as Lambda sets it for each invocation.
  const header = new Map(
    (process.env._X_AMZN_TRACE_ID ?? '').split(';').map((field) => field.split('=', 2) as [string, string]),
  );
  if (!host || port === undefined || header.get('Sampled') !== '1') return;
  const document = {
    ...subsegment(whole),
    type: 'subsegment',
    trace_id: header.get('Root'),
    parent_id: header.get('Parent'),
    annotations,
    subsegments: parts.slice(0, partsAtMost).map(subsegment),
  };
  await send(`{"format": "json", "version": 1}\n${JSON.stringify(document)}`, host, Number(port));
}

const subsegment = ({ name, start, end, outcome }: TracedPart): Subsegment => ({
  id: randomBytes(8).toString('hex'),
  name,
  start_time: start / 1000,
  end_time: end / 1000,
  ...(outcome !== 'ok' && { [outcome]: true }),
});

function send(text: string, host: string, port: number): Promise<void> {
  // Unreferenced: it must not keep an environment, or a test, from ending.
  socket ??= createSocket('udp4').unref();
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.send(text, port, host, (error) => {
    if (error !== null) log.warn('A trace was not told', { error });
    resolve();
  });
  return promise;
}
