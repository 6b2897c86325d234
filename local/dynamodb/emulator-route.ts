import http, { type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AccessRules } from '../iam/access-rules.ts';
import { createEvaluator } from '../iam/evaluator.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { emulatorConnections } from './emulator-connections.ts';
import { forEmulator } from './emulator-credential.ts';
import { EmulatorRequest } from './emulator-request.ts';
import { neededPermissions } from './needed-permissions.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';

/** What a function's thread needs to know to leave the wire out: plain data. */
export interface EmulatorRoute {
  /** Addresses. */
  readonly wire: string;
  readonly emulator: string;
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly rules: AccessRules;
}

/**
 * From now on this thread's calls to the wire go straight to the engine when the policies allow them, which spares a turn
 * of a chat eight of sixteen ways between processes. What they do not allow, and what is done for the first time, goes
 * through the wire, which refuses the one and notes the other.
 */
export function takeEmulatorRoute({ wire, emulator, shapes, rules }: EmulatorRoute): void {
  let isFirstUse = false;
  const evaluate = createEvaluator(rules, {
    onUse: () => {
      isFirstUse = true;
    },
    onDenied: () => {},
  });
  const mayGoStraight = (headers: OutgoingHttpHeaders, body: unknown): boolean => {
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
    const target = String(headers['x-amz-target']).split('.').pop() ?? '';
    const input = JSON.parse(String(body)) as DynamoRequest;
    isFirstUse = false;
    const rejection = evaluate.rejectionOf(
      accessKeyOf({ authorization: String(headers.authorization) }),
      neededPermissions(target, input, shapes, rules),
    );
    return rejection === undefined && !isFirstUse;
  };

  const { hostname, port } = new URL(wire);
  const connections = emulatorConnections(new URL(emulator));
  const { request } = http;
  http.request = ((options: RequestOptions, ...rest: [((response: IncomingMessage) => void)?]) => {
    if (options.host !== hostname || String(options.port ?? '') !== port) return request(options, ...rest);
    return new EmulatorRequest({
      options,
      onAnswer: rest[0],
      chooseWay: (headers, body) =>
        mayGoStraight(headers, body)
          ? {
              connection: connections.take(),
              headers: { ...headers, authorization: forEmulator(String(headers.authorization)) },
            }
          : { wire: () => request(options) },
    });
  }) as typeof request;
  syncBuiltinESMExports();
}
