import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One operation, from its input to its output. */
export type AwsJsonOperation = (input: Record<string, unknown>) => unknown;

/** Thrown by an operation: what the SDK turns into the exception of that name. */
export class AwsJsonError extends Error {
  readonly status: number;

  constructor(name: string, message: string, status = 400) {
    super(message);
    this.name = name;
    this.status = status;
  }
}

export interface AwsJsonServer {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** A service that speaks AWS's JSON protocol, given its operations by name. */
export async function serveAwsJson(operations: Record<string, AwsJsonOperation>): Promise<AwsJsonServer> {
  const server = createServer(async (request, response) => {
    const answer = async (): Promise<[status: number, body: unknown]> => {
      try {
        const target = String(request.headers['x-amz-target']).split('.').pop() ?? '';
        const operation = operations[target];
        if (!operation)
          throw new AwsJsonError('UnknownOperationException', `${target} is not available locally`);
        return [200, await operation(JSON.parse(await readText(request)))];
      } catch (error) {
        if (error instanceof AwsJsonError)
          return [error.status, { __type: error.name, message: error.message }];
        return [500, { __type: 'InternalServerError', message: String(error) }];
      }
    };
    const [status, body] = await answer();
    response.writeHead(status, { 'Content-Type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(body));
  });
  await listen(server);
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}
