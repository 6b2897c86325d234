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
  /** Starts the server ahead of the first request. */
  readonly prewarm: boolean;
  onLine(line: string): void;
}

export interface WebFunctionLimits {
  /** Undefined where the endpoint names no limit. */
  readonly requestsPerSecond: number | undefined;
  /** At once, in all environments that the endpoint may have; what is more is rejected, not queued. */
  readonly concurrency: number;
}

export interface WebFunctionServer {
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

interface Environment {
  readonly worker: Worker;
  readonly port: number;
  /** Rejects when the server does not listen in time, or ends before. */
  readonly listening: Promise<void>;
}

// What Lambda gives a server to begin to listen.
const START_MILLISECONDS = 10_000;

// About one connection, not what comes over it (RFC 9110, 7.6.1), as is whatever `Connection` names.
const OF_ONE_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade'];

// Taken out of a request before a function sees it; its transfer coding stays, so that its body is sent on as it came.
const NOT_FORWARDED = new Set([
  ...OF_ONE_CONNECTION,
  'expect',
  'host',
  'proxy-authenticate',
  'proxy-authorization',
]);

const NOT_RETURNED = new Set([...OF_ONE_CONNECTION, 'proxy-authenticate', 'transfer-encoding']);

/** One environment, started by the first request, and again by the next one after it has ended. */
export function startWebFunction(definition: WebFunctionDefinition): WebFunctionServer {
  let environment: Promise<Environment> | undefined;
  const agent = new Agent({ keepAlive: true });
  const { requestsPerSecond, concurrency } = definition.limits;
  const isWithinRate = createThrottle();
  let underWay = 0;

  /** Lambda does not say how it counts; here a second's requests may come at once. */
  const isThrottled = (): boolean =>
    underWay >= concurrency ||
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
        // Lambda documents the header for its own errors, and not what it says of this one.
        response.writeHead(429, { 'lambda-web-error-type': 'Platform.Throttled' }).end();
        return;
      }
      underWay += 1;
      response.once('close', () => {
        underWay -= 1;
      });
      let port: number;
      try {
        port = await ready();
      } catch {
        response.writeHead(502, { 'lambda-web-error-type': 'Runtime.InitError' }).end();
        return;
      }
      const passed = openRequest({
        agent,
        host: '127.0.0.1',
        port,
        method: request.method,
        path: request.url,
        headers: headersFor(request, definition.domainName),
      });
      const timer = setTimeout(() => passed.destroy(new Error('timeout')), definition.timeoutSeconds * 1000);
      passed.on('response', (respond) => {
        // A function that answers before it has read a request goes on reading, or says that it will not.
        const closes = !request.complete && respond.headers.connection === 'close';
        const connection = closes ? ['Connection', 'close'] : [];
        const headers = passedOn(respond.rawHeaders, NOT_RETURNED);
        response.writeHead(respond.statusCode ?? 502, [...headers, ...connection]);
        pipeline(respond, response, () => clearTimeout(timer));
      });
      passed.on('error', (error) => {
        clearTimeout(timer);
        if (response.headersSent) response.destroy();
        else response.writeHead(error.message === 'timeout' ? 504 : 502).end();
      });
      // A client that leaves takes its request along.
      response.on('close', () => {
        if (!response.writableEnded) passed.destroy();
      });
      pipeline(request, passed, () => {});
    },
    async close() {
      agent.destroy();
      await (await environment)?.worker.terminate();
    },
  };
}

function headersFor(request: IncomingMessage, host: string): string[] {
  const headers = passedOn(request.rawHeaders, NOT_FORWARDED, /^lambda-web-/);
  return ['Host', host, 'lambda-web-request-id', randomUUID(), ...headers];
}

/** Names and values in turn. */
function passedOn(rawHeaders: readonly string[], without: ReadonlySet<string>, reserved?: RegExp): string[] {
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
    .filter(({ lower }) => !without.has(lower) && !named.includes(lower) && !reserved?.test(lower))
    .flatMap(({ name, value }) => [name, value]);
}

/** Free at the moment: the thread takes it within milliseconds. */
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
