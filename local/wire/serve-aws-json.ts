import { createServer, type IncomingMessage } from 'node:http';
import type { AccessControl } from '../iam/access-control.ts';
import type { Denial, Permission } from '../iam/access-rules.ts';
import { checkSignature } from '../iam/authenticate.ts';
import { accessKeyOf } from './access-key-of.ts';
import { type Listening, listenOnLoopback } from './listen-on-loopback.ts';

/** One operation, from its input to its output. */
export type AwsJsonOperation = (input: Record<string, unknown>) => unknown;

/** Thrown by an operation. The SDK turns it into the exception of this name. */
export class AwsJsonError extends Error {
  readonly status: number;

  constructor(name: string, message: string, status = 400) {
    super(message);
    this.name = name;
    this.status = status;
  }
}

/** Checks the signature and the permissions of each call. */
export interface AwsJsonGuard extends Pick<AccessControl, 'rejectionOf' | 'rules'> {
  /** The permissions that IAM checks for a call. */
  needed(operation: string, input: Record<string, unknown>): readonly Permission[];
}

/** Serves operations, by name, with AWS's JSON protocol. */
export async function serveAwsJson(
  operations: Record<string, AwsJsonOperation>,
  { needed, rejectionOf, rules }: AwsJsonGuard,
): Promise<Listening> {
  const server = createServer(async (request, response) => {
    const respond = async (): Promise<[status: number, body: unknown]> => {
      try {
        const target = String(request.headers['x-amz-target']).split('.').pop() ?? '';
        const operation = operations[target];
        if (!operation)
          throw new AwsJsonError('UnknownOperationException', `${target} is not available locally`);
        const text = await readText(request);
        const input = JSON.parse(text) as Record<string, unknown>;
        const { method = '', url = '', headers } = request;
        const rejection =
          checkSignature({ method, url, headers }, text, rules) ??
          rejectionOf(accessKeyOf(headers), needed(target, input));
        if (rejection) return [400, deniedAwsJson(rejection)];
        return [200, await operation(input)];
      } catch (error) {
        if (error instanceof AwsJsonError)
          return [error.status, { __type: error.name, message: error.message }];
        return [500, { __type: 'InternalServerError', message: String(error) }];
      }
    };
    const [status, body] = await respond();
    response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(body));
  });
  return await listenOnLoopback(server);
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const NAMES = {
  denied: 'AccessDeniedException',
  'no-credentials': 'MissingAuthenticationTokenException',
  'unknown-key': 'UnrecognizedClientException',
  'wrong-signature': 'InvalidSignatureException',
} as const;

/** The error body that services with AWS's JSON protocol return for a denied call. */
export const deniedAwsJson = ({ reason, message }: Denial) => ({
  __type: `com.amazon.coral.service#${NAMES[reason]}`,
  Message: message,
});
