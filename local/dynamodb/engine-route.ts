import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AccessRules } from '../iam/access-rules.ts';
import { createJudge } from '../iam/judge.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { forEngine } from './engine-credential.ts';
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

type Decide = (request: ClientRequest) => URL;

/** Waits until the caller has ended the request, which is in the same turn of the event loop, to see where it goes. */
class RoutingAgent extends http.Agent {
  readonly #decide: Decide;

  constructor(decide: Decide) {
    super({ keepAlive: true });
    this.#decide = decide;
  }

  // Node's own agents are given requests so; it is in no type.
  addRequest(request: ClientRequest, options: object): void {
    const add = Reflect.get(http.Agent.prototype, 'addRequest') as (...args: unknown[]) => void;
    process.nextTick(() => {
      const { hostname, port } = this.#decide(request);
      add.call(this, request, { ...options, host: hostname, port: Number(port) });
    });
  }
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
  const mayGoStraight = (request: ClientRequest, body: unknown): boolean => {
    if (typeof body !== 'string' && !Buffer.isBuffer(body)) return false;
    const target = String(request.getHeader('x-amz-target')).split('.').pop() ?? '';
    const authorization = String(request.getHeader('authorization'));
    const input = JSON.parse(String(body)) as DynamoRequest;
    isFirstUse = false;
    const refusal = judge.refusalOf(
      accessKeyOf({ authorization }),
      neededPermissions(target, input, shapes, rules),
    );
    if (refusal !== undefined || isFirstUse) return false;
    request.setHeader('authorization', forEngine(authorization));
    return true;
  };

  const [wireAddress, engineAddress] = [new URL(wire), new URL(engine)];
  const straight = new WeakSet<ClientRequest>();
  const agent = new RoutingAgent((request) => (straight.has(request) ? engineAddress : wireAddress));
  const { request } = http;
  http.request = ((options: RequestOptions, ...rest: [((answer: IncomingMessage) => void)?]) => {
    const isOurs = options.host === wireAddress.hostname && String(options.port ?? '') === wireAddress.port;
    if (!isOurs) return request(options, ...rest);
    const outgoing = request({ ...options, agent }, ...rest);
    const end = outgoing.end.bind(outgoing) as (...given: unknown[]) => ClientRequest;
    outgoing.end = (...given: unknown[]) => {
      if (mayGoStraight(outgoing, given[0])) straight.add(outgoing);
      return end(...given);
    };
    return outgoing;
  }) as typeof request;
  syncBuiltinESMExports();
}
