import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { Pool } from '#contract/limits.ts';
import { originSecretHeader, variables } from '#runtime/environment/variables.ts';
import { readMetricLine } from './metric-lines.ts';
import type { Service } from './service.ts';

export type PoolSizes = Readonly<Record<Pool, number>>;

/** As large as a stage's, for tests that need no small ones. */
export const largePools: PoolSizes = {
  ...{ replies: 6400, uploads: 3200, readers: 200 },
  ...{ preparations: 50, webhooks: 50 },
};

/** Runs the web function of uploads in its own process, on the stores of a running service. */
export async function startUploadEndpoint(service: Service, poolSizes: PoolSizes = largePools) {
  const secretArns = Object.entries(service.run.physicalIds).flatMap(([id, arn]) =>
    id.startsWith('OriginSecret') ? [arn] : [],
  );
  const { port, lines, close } = await startWebFunction(service, 'receive-uploads.ts', {
    AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
    [variables.originSecrets]: secretArns.join(','),
    [variables.stageLimits]: 'reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none',
    [variables.poolSizes]: JSON.stringify(poolSizes),
  });
  const originSecrets = await Promise.all(
    secretArns.map(async (arn) => [originSecretHeader, await readSecret(service, arn)] as const),
  );
  const [originSecret = [originSecretHeader, '']] = originSecrets;
  return {
    /** The header that the distribution adds to each request. */
    originSecret,
    /** The same header with each of the values that the server accepts. */
    originSecrets,
    /** Opens a new connection directly to the server. */
    connect: () => open(port),
    /** The sum of a metric's values that the server has emitted so far. */
    sumOf: (metric: string) =>
      lines
        .map((line) => readMetricLine('', line)?.metrics[metric]?.value ?? 0)
        .reduce<number>((sum, value) => sum + Number(value), 0),
    close,
  };
}

/** Runs a web function in its own process, with the credentials of the local run's operator. */
export async function startWebFunction(
  { run: { endpoints, outputs } }: Service,
  module: string,
  own: Readonly<Record<string, string | undefined>>,
  execArgv: readonly string[] = [],
) {
  const port = await findPort();
  const program = join(import.meta.dirname, '../../functions/web', module);
  const child = spawn(process.execPath, [...execArgv, program], {
    env: {
      ...process.env,
      AWS_ENDPOINT_URL_S3: endpoints.s3,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsmanager,
      [variables.fileBucket]: outputs.FileBucketName,
      [variables.httpEndpoint]: `127.0.0.1:${port}`,
      [variables.metricsNamespace]: 'test',
      [variables.usageDays]: '400',
      ...own,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => lines.push(line));
  await listening(port, child).catch((error: Error) => {
    throw new Error(`${error.message}:\n${lines.join('\n')}`);
  });
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
  };
  return { port, child, exit, lines, close };
}

export async function readSecret({ run }: Service, SecretId: string): Promise<string> {
  const secrets = new SecretsManagerClient({ endpoint: run.endpoints.secretsmanager });
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }));
  return SecretString;
}

export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect(port, '127.0.0.1');
    const [outcome] = await Promise.race([
      once(socket, 'connect').then(() => [true]),
      once(socket, 'close').then(() => [false]),
    ]).catch(() => [false]);
    socket.destroy();
    if (outcome) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`The endpoint has ended with ${child.exitCode}`);
}

export type RawConnection = Awaited<ReturnType<typeof open>>;

async function open(port: number) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const openedAt = performance.now();
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  // A server that closes with unread bytes resets the connection.
  socket.on('error', () => {});
  const closed = new Promise<number>((resolve) =>
    socket.once('close', () => resolve(performance.now() - openedAt)),
  );
  return {
    socket,
    /** Resolves when the connection is closed, with the milliseconds since it was opened. */
    closed,
    /** Everything that the server has sent so far. */
    received: () => text,
    /** Resolves when the server has sent this text. */
    async until(expected: string): Promise<void> {
      while (!text.includes(expected)) {
        if (socket.closed) throw new Error(`Closed after: ${text}`);
        await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed]);
      }
    },
    sendHead(headers: readonly (readonly [name: string, value: string])[]): void {
      const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`POST /api/v1/chats/upload-file HTTP/1.1\r\nHost: any\r\n${lines.join('')}\r\n`);
    },
    /** Sends this many bytes, or fewer if the connection is closed before. Returns how many were sent. */
    async sendBytes(bytes: number): Promise<number> {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      let accepted = 0;
      while (accepted < bytes && !socket.destroyed) {
        const next = chunk.subarray(0, bytes - accepted);
        const written = new Promise<boolean>((resolve) => socket.write(next, (error) => resolve(!error)));
        if (!(await Promise.race([written, closed.then(() => false)]))) break;
        accepted += next.length;
      }
      return accepted;
    },
  };
}
