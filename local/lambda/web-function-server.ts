import { randomUUID } from 'node:crypto';
import { Agent, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createThrottle } from '../gateway/method-throttles.ts';
import { claimPort, ownPorts, releasePort } from '../wire/own-ports.ts';
import { passLines } from './pass-lines.ts';
import type { ServerThreadData } from './thread/messages.ts';

export interface WebFunctionDefinition {
  readonly functionName: string;
  readonly domainName: string;
  /** The module that starts the server. */
  readonly entry: string;
  readonly compileCacheFolder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutSeconds: number;
  readonly limits: WebFunctionLimits;
  /** Starts the server before the first request. */
  readonly prewarm: boolean;
  onLine(line: string): void;
}

export interface WebFunctionLimits {
  /** Undefined if the endpoint has no limit. */
  readonly requestsPerSecond: number | undefined;
  /** Concurrent requests, over all environments of the endpoint. Further requests are rejected, not queued. */
  readonly concurrency: number;
}

export interface WebFunctionServer {
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Environment {
  readonly worker: Worker;
  readonly port: number;
  /** Rejects if the server does not listen in time, or if it ends before. */
  readonly listening: Promise<void>;
}

// Lambda's time limit for a server to start listening.
const START_MILLISECONDS = 10_000;

// Headers of a connection, not of the request (RFC 9110, section 7.6.1). Headers that `Connection` names are removed
// too.
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

// Removed from a request before the function gets it. Transfer-Encoding stays, so that the body is forwarded unchanged.
const NOT_FORWARDED = new Set([...HOP_BY_HOP, 'expect', 'host', 'proxy-authenticate', 'proxy-authorization']);

const NOT_RETURNED = new Set([...HOP_BY_HOP, 'proxy-authenticate', 'transfer-encoding']);

/** Serves one environment. The first request starts it. After it has ended, the next request starts a new one. */
export function startWebFunction(definition: WebFunctionDefinition): WebFunctionServer {
  let environment: Promise<Environment> | undefined;
  const agent = new Agent({ keepAlive: true });
  const { requestsPerSecond, concurrency } = definition.limits;
  const isWithinRate = createThrottle();
  let activeRequests = 0;

  /** Lambda does not document how it counts. Here, all requests of a second may come at once. */
  const isThrottled = (): boolean =>
    activeRequests >= concurrency ||
    (requestsPerSecond !== undefined &&
      !isWithinRate(definition, { requestsPerSecond, burst: requestsPerSecond }));

  async function start(): Promise<Environment> {
    const port = await findFreePort();
    claimPort(port);
    const worker = new Worker(new URL('./thread/run-server.ts', import.meta.url), {
      name: definition.functionName,
      env: {
        ...definition.environment,
        AWS_LAMBDA_HTTP_ENDPOINT: `127.0.0.1:${port}`,
        NODE_COMPILE_CACHE: definition.compileCacheFolder,
      },
      argv: [],
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData: { entry: definition.entry, ownPorts } satisfies ServerThreadData,
    });
    passLines(worker.stdout, definition.onLine);
    passLines(worker.stderr, definition.onLine);
    const ended = new Promise<never>((_, reject) => {
      worker.on('error', (error: Error) => {
        definition.onLine(error.stack ?? String(error));
        reject(error);
      });
      worker.on('exit', () => {
        environment = undefined;
        releasePort(port);
        reject(new Error(`${definition.functionName} has ended`));
      });
    });
    const listening = Promise.race([untilListening(port, definition.functionName), ended]);
    listening.catch(() => {});
    return { worker, port, listening };
  }

  async function ready(): Promise<number> {
    environment ??= start();
    const { port, listening } = await environment;
    await listening;
    return port;
  }

  if (definition.prewarm) ready().catch(() => {});

  return {
    async respond(request, response) {
      if (isThrottled()) {
        // Lambda documents this header for its own errors, but not the value for a throttled request.
        response.writeHead(429, { 'lambda-web-error-type': 'Platform.Throttled' }).end();
        return;
      }
      activeRequests += 1;
      response.once('close', () => {
        activeRequests -= 1;
      });
      let port: number;
      try {
        port = await ready();
      } catch {
        response.writeHead(502, { 'lambda-web-error-type': 'Runtime.InitError' }).end();
        return;
      }
      const outgoing = openRequest({
        agent,
        host: '127.0.0.1',
        port,
        method: request.method,
        path: request.url,
        headers: headersFor(request, definition.domainName),
      });
      const timer = setTimeout(
        () => outgoing.destroy(new Error('timeout')),
        definition.timeoutSeconds * 1000,
      );
      outgoing.on('response', (incoming) => {
        // A function that responds before it has read the request either reads the rest, or sends `Connection: close`.
        const closes = !request.complete && incoming.headers.connection === 'close';
        const connection = closes ? ['Connection', 'close'] : [];
        const headers = withoutHeaders(incoming.rawHeaders, NOT_RETURNED);
        response.writeHead(incoming.statusCode ?? 502, [...headers, ...connection]);
        pipeline(incoming, response, () => clearTimeout(timer));
      });
      outgoing.on('error', (error) => {
        clearTimeout(timer);
        if (response.headersSent) response.destroy();
        else response.writeHead(error.message === 'timeout' ? 504 : 502).end();
      });
      // If the client disconnects, its request to the function is aborted.
      response.on('close', () => {
        if (!response.writableEnded) outgoing.destroy();
      });
      pipeline(request, outgoing, () => {});
    },
    async close() {
      agent.destroy();
      await (await environment)?.worker.terminate();
    },
  };
}

function headersFor(request: IncomingMessage, host: string): string[] {
  const headers = withoutHeaders(request.rawHeaders, NOT_FORWARDED, /^lambda-web-/);
  return ['Host', host, 'lambda-web-request-id', randomUUID(), ...headers];
}

/** Returns names and values, alternating, without these headers and those that `Connection` names. */
function withoutHeaders(
  rawHeaders: readonly string[],
  removed: ReadonlySet<string>,
  reserved?: RegExp,
): string[] {
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [{ name, lower: name.toLowerCase(), value: rawHeaders[index + 1] ?? '' }] : [],
  );
  const named = headers
    .filter(({ lower }) => lower === 'connection')
    .flatMap(({ value }) =>
      value
        .toLowerCase()
        .split(',')
        .map((option) => option.trim()),
    );
  return headers
    .filter(({ lower }) => !removed.has(lower) && !named.includes(lower) && !reserved?.test(lower))
    .flatMap(({ name, value }) => [name, value]);
}

/** A port that is free now. The thread listens on it within milliseconds. */
function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function untilListening(port: number, name: string): Promise<void> {
  const deadline = performance.now() + START_MILLISECONDS;
  while (performance.now() < deadline) {
    if (await accepts(port)) return;
    await sleep(10);
  }
  throw new Error(`${name} does not listen on AWS_LAMBDA_HTTP_ENDPOINT`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
