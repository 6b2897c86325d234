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
  const { endpoints, outputs, physicalIds } = service.run;
  const secretArns = Object.entries(physicalIds).flatMap(([id, arn]) =>
    id.startsWith('OriginSecret') ? [arn] : [],
  );
  const port = await findPort();
  const lines: string[] = [];
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../functions/web/receive-uploads.ts')],
    {
      env: {
        // The process has the credentials of the local run's operator.
        ...process.env,
        AWS_ENDPOINT_URL_S3: endpoints.s3,
        AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsmanager,
        AWS_REQUEST_CHECKSUM_CALCULATION: 'WHEN_REQUIRED',
        [variables.fileBucket]: outputs.FileBucketName,
        [variables.originSecrets]: secretArns.join(','),
        [variables.httpEndpoint]: `127.0.0.1:${port}`,
        [variables.metricsNamespace]: 'test',
        [variables.stageLimits]:
          'reads=none,writes=none,sends=none,uploads=none,batches=none,open-batches=none',
        [variables.usageDays]: '400',
        [variables.poolSizes]: JSON.stringify(poolSizes),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await listening(port, child);
  const secrets = new SecretsManagerClient({ endpoint: endpoints.secretsmanager });
  const originSecrets = await Promise.all(
    secretArns.map(async (SecretId) => {
      const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }));
      return [originSecretHeader, SecretString] as const;
    }),
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
    async close() {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

export async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export async function listening(port: number, child: ChildProcess): Promise<void> {
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
