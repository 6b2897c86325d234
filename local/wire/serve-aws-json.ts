import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { AccessControl } from '../iam/access-control.ts';
import type { Denial, Permission } from '../iam/access-rules.ts';
import { checkSignature } from '../iam/authenticate.ts';
import { accessKeyOf } from './access-key-of.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';

export type AwsJsonOperation = (input: Record<string, unknown>) => unknown;

/** The SDK turns it into the exception of this name. */
export class AwsJsonError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

export type Guard = Pick<AccessControl, 'rejectionOf' | 'rules'>;

export const denialOf = (
  { rejectionOf, rules }: Guard,
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: string | Buffer,
  needed: readonly Permission[],
): Denial | undefined =>
  checkSignature({ method, url, headers }, body, rules) ?? rejectionOf(accessKeyOf(headers), needed);

export const operationOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string =>
  String(headers['x-amz-target']).split('.').pop() ?? '';

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

export const denialNames = {
  denied: 'AccessDeniedException',
  'no-credentials': 'MissingAuthenticationTokenException',
  'unknown-key': 'UnrecognizedClientException',
  'wrong-signature': 'InvalidSignatureException',
} as const;

export const deniedAwsJson = ({ reason, message }: Denial) => ({
  __type: `com.amazon.coral.service#${denialNames[reason]}`,
  Message: message,
});
