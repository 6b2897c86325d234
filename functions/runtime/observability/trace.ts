import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import process from 'node:process';
import { log } from './log.ts';

/** Times are in milliseconds since the epoch. */
export interface TracedPart {
  name: string;
  start: number;
  end: number;
  /** `error`: a request whose error has a 4xx status. */
  outcome: 'ok' | 'error' | 'fault';
}

/** X-Ray indexes at most 50 annotations of a trace. */
type Annotations = Readonly<Record<string, string | undefined>>;

/** A datagram to the daemon may have 64 KB. */
const maxParts = 100;

let socket: Socket | undefined;

/**
 * Does nothing without a daemon, or if Lambda does not sample the invocation.
 * @returns resolves even if the datagram could not be sent
 */
export async function sendTrace(
  invocation: TracedPart,
  parts: readonly TracedPart[],
  annotations: Annotations,
): Promise<void> {
  const [host, port] = (process.env.AWS_XRAY_DAEMON_ADDRESS ?? '').split(':');
  // Lambda sets this variable for each invocation: Root=1-…;Parent=…;Sampled=1
  const header = new Map(
    (process.env._X_AMZN_TRACE_ID ?? '').split(';').map((field) => field.split('=', 2) as [string, string]),
  );
  if (!host || port === undefined || header.get('Sampled') !== '1') return;
  const document = {
    ...subsegment(invocation),
    type: 'subsegment',
    trace_id: header.get('Root'),
    parent_id: header.get('Parent'),
    annotations,
    subsegments: parts.slice(0, maxParts).map(subsegment),
  };
  await send(`{"format": "json", "version": 1}\n${JSON.stringify(document)}`, host, Number(port));
}

/** The share of X-Ray's default rule. */
const sampledShare = 0.05;
let lastSampledSecond = 0;

/** X-Ray does not trace invocations of web functions. */
export function logTrace({ start, end, outcome }: TracedPart, parts: readonly TracedPart[]): void {
  const second = Math.floor(end / 1000);
  if (outcome !== 'fault' && second === lastSampledSecond && Math.random() >= sampledShare) return;
  lastSampledSecond = second;
  log.info('Trace', {
    outcome,
    milliseconds: end - start,
    parts: parts.slice(0, maxParts).map((part) => ({
      name: part.name,
      after: part.start - start,
      milliseconds: part.end - part.start,
      outcome: part.outcome,
    })),
  });
}

const subsegment = ({ name, start, end, outcome }: TracedPart) => ({
  id: randomBytes(8).toString('hex'),
  name,
  start_time: start / 1000,
  end_time: end / 1000,
  ...(outcome !== 'ok' && { [outcome]: true }),
});

function send(text: string, host: string, port: number): Promise<void> {
  // Unreferenced, so that the socket does not keep the process alive.
  socket ??= createSocket('udp4').unref();
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.send(text, port, host, (error) => {
    if (error !== null) log.warn('A trace was not sent', { error });
    resolve();
  });
  return promise;
}
