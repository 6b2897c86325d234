import http, { type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AccessRules } from '../../iam/access-rules.ts';
import { createEvaluator } from '../../iam/evaluator.ts';
import { accessKeyOf } from '../../wire/access-key-of.ts';
import { neededPermissions } from '../needed-permissions.ts';
import type { DynamoRequest, TableShape } from '../touched-items.ts';
import { emulatorConnections, withEmulatorCredential } from './emulator-connections.ts';
import { EmulatorRequest } from './emulator-request.ts';

/** Plain data, because it is cloned for threads. */
export interface EmulatorRoute {
  readonly wire: string;
  readonly emulator: string;
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly rules: AccessRules;
}

/**
 * From now on, calls of this thread may go to the emulator without the wire. The thread's first use of a permission
 * goes to the wire, because uses are noted there.
 */
export function bypassWire({ wire, emulator, shapes, rules }: EmulatorRoute): void {
  let isFirstUse = false;
  const evaluate = createEvaluator(rules, {
    onUse: () => {
      isFirstUse = true;
    },
    onDenied: () => {},
  });
  const canBypassWire = (headers: OutgoingHttpHeaders, body: unknown): boolean => {
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
    return new EmulatorRequest(options, rest[0], (headers, body) => {
      if (!canBypassWire(headers, body)) return { wire: () => request(options) };
      const authorization = withEmulatorCredential(String(headers.authorization));
      return { connection: connections.take(), headers: { ...headers, authorization } };
    });
  }) as typeof request;
  syncBuiltinESMExports();
}
