import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AccessControl } from '../iam/access-control.ts';
import type { Denial, Permission } from '../iam/access-rules.ts';
import { checkSignature } from '../iam/authenticate.ts';
import { accessKeyOf } from './access-key-of.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';

/** One operation, from its input to its output. */
export type AwsJsonOperation = (input: Record<string, unknown>) => unknown;

/** Thrown by an operation. The SDK turns it into the exception of this name. */
export class AwsJsonError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

/** What checks the signature and the permissions of a call. */
export type Guard = Pick<AccessControl, 'rejectionOf' | 'rules'>;

/** The denial of a call whose signature is wrong or whose caller lacks a permission; undefined for an allowed call. */
export const denialOf = (
  { rejectionOf, rules }: Guard,
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: string | Buffer,
  needed: readonly Permission[],
): Denial | undefined =>
  checkSignature({ method, url, headers }, body, rules) ?? rejectionOf(accessKeyOf(headers), needed);

/** The operation, such as `PutItem`, that a request of AWS's JSON protocol names. */
export const operationOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  String(headers['x-amz-target']).split('.').pop() ?? '';

/**
 * Starts a server of operations, by name, with AWS's JSON protocol.
 * @param needed the permissions that IAM checks for a call
 */
export async function serveAwsJson(
  operations: Record<string, AwsJsonOperation>,
  guard: Guard,
  needed: (operation: string, input: Record<string, unknown>) => readonly Permission[],
): Promise<Listening> {
  async function respond(request: IncomingMessage): Promise<[status: number, body: unknown]> {
    const name = operationOf(request);
    const operation = operations[name];
    if (!operation) throw new AwsJsonError('UnknownOperationException', `${name} is not available locally`);
    const body = await text(request);
    const input = JSON.parse(body) as Record<string, unknown>;
    const denial = denialOf(guard, request, body, needed(name, input));
    return denial ? [400, deniedAwsJson(denial)] : [200, await operation(input)];
  }
  const server = createServer(async (request, response) => {
    const [status, body] = await respond(request).catch((error): [number, object] =>
      error instanceof AwsJsonError
        ? [400, { __type: error.name, message: error.message }]
        : [500, { __type: 'InternalServerError', message: String(error) }],
    );
    response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(body));
  });
  return await listenOnLoopback(server);
}

/** The error names of AWS's JSON protocol, and of Lambda, by the reason of the denial. */
export const denialNames = {
  denied: 'AccessDeniedException',
  'no-credentials': 'MissingAuthenticationTokenException',
  'unknown-key': 'UnrecognizedClientException',
  'wrong-signature': 'InvalidSignatureException',
} as const;

/** The error body that services with AWS's JSON protocol return for a denied call. */
export const deniedAwsJson = ({ reason, message }: Denial) => ({
  __type: `com.amazon.coral.service#${denialNames[reason]}`,
  Message: message,
});
