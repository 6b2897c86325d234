import http, { type IncomingMessage, type OutgoingHttpHeaders, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AccessRules } from '../iam/access-rules.ts';
import { createJudge } from '../iam/judge.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { engineConnections } from './engine-connections.ts';
import { forEngine } from './engine-credential.ts';
import { EngineRequest } from './engine-request.ts';
import { neededPermissions } from './needed-permissions.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';

/** What a function's thread needs to know to leave the wire out: plain data. */
export interface EngineRoute {
  /** Addresses. */
  readonly wire: string;
  readonly engine: string;
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly rules: AccessRules;
}

/**
 * From now on this thread's calls to the wire go straight to the engine when the policies allow them, which spares a turn
 * of a chat eight of sixteen ways between processes. What they do not allow, and what is done for the first time, goes
 * through the wire, which refuses the one and notes the other.
 */
export function takeEngineRoute({ wire, engine, shapes, rules }: EngineRoute): void {
  let isFirstUse = false;
  const judge = createJudge(rules, {
    onUse: () => {
      isFirstUse = true;
    },
    onRefusal: () => {},
  });
  const mayGoStraight = (headers: OutgoingHttpHeaders, body: unknown): boolean => {
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
    const target = String(headers['x-amz-target']).split('.').pop() ?? '';
    const input = JSON.parse(String(body)) as DynamoRequest;
    isFirstUse = false;
    const refusal = judge.refusalOf(
      accessKeyOf({ authorization: String(headers.authorization) }),
      neededPermissions(target, input, shapes, rules),
    );
    return refusal === undefined && !isFirstUse;
  };

  const { hostname, port } = new URL(wire);
  const connections = engineConnections(new URL(engine));
  const { request } = http;
  http.request = ((options: RequestOptions, ...rest: [((answer: IncomingMessage) => void)?]) => {
    if (options.host !== hostname || String(options.port ?? '') !== port) return request(options, ...rest);
    return new EngineRequest({
      options,
      onAnswer: rest[0],
      chooseWay: (headers, body) =>
        mayGoStraight(headers, body)
          ? {
              connection: connections.take(),
              headers: { ...headers, authorization: forEngine(String(headers.authorization)) },
            }
          : { wire: () => request(options) },
    });
  }) as typeof request;
  syncBuiltinESMExports();
}
