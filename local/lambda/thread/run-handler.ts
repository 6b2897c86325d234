import { existsSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import { guardThread } from './guards.ts';
import { awslambda, type Handler, isStreaming } from './managed-runtime.ts';
import type { ErrorReport, MessageFromThread, MessageToThread, ThreadData } from './messages.ts';
import { ResponseStream } from './response-stream.ts';

if (!parentPort) throw new Error('This module is the body of a worker thread');
const port = parentPort;
const data = workerData as ThreadData;
const send = (message: MessageFromThread, transfer?: ArrayBuffer[]) => port.postMessage(message, transfer);

// Whether outgoing requests are allowed: during a call, and while the module loads.
let active = true;
let responseStream: ResponseStream | undefined;

Object.assign(globalThis, { awslambda });
const sampleMemory = guardThread(data, () => (active ? undefined : 'the handler had resolved'));

async function loadHandler(): Promise<Handler> {
  const dot = data.handler.lastIndexOf('.');
  const module = path.join(data.taskRoot, data.handler.slice(0, dot));
  const exported = data.handler.slice(dot + 1);
  const file = ['.mjs', '.js', '.cjs'].map((extension) => module + extension).find(existsSync);
  if (!file) throw new Error(`Cannot find module ${module}`);
  const loaded = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const handler = loaded[exported] ?? (loaded.default as Record<string, unknown> | undefined)?.[exported];
  if (typeof handler !== 'function') throw new Error(`${data.handler} is undefined or not exported`);
  return handler as Handler;
}

function createContext(requestId: string) {
  const deadline = Date.now() + data.timeoutSeconds * 1000;
  return {
    awsRequestId: requestId,
    callbackWaitsForEmptyEventLoop: true,
    functionName: data.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: data.functionArn,
    logGroupName: `/aws/lambda/${data.functionName}`,
    logStreamName: 'local',
    memoryLimitInMB: String(data.memoryMegabytes),
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
}

function reportError(thrown: unknown): ErrorReport {
  if (!(thrown instanceof Error)) return { errorType: typeof thrown, errorMessage: String(thrown) };
  return { errorType: thrown.name, errorMessage: thrown.message };
}

async function stream(handler: Handler, event: unknown, context: object): Promise<MessageFromThread> {
  const response = new ResponseStream(send);
  responseStream = response;
  const ended = finished(response);
  // Prevents an unhandled rejection: if the handler fails, `ended` is not awaited.
  ended.catch(() => {});
  await handler(event, response, context);
  await ended;
  return { kind: 'done' };
}

async function invoke(handler: Handler, requestId: string, payload: string): Promise<void> {
  active = true;
  let outcome: MessageFromThread;
  try {
    const event: unknown = JSON.parse(payload);
    const context = createContext(requestId);
    outcome = isStreaming(handler)
      ? await stream(handler, event, context)
      : { kind: 'done', payload: JSON.stringify((await handler(event, context)) ?? null) };
  } catch (error) {
    outcome = { kind: 'failed', error: reportError(error) };
  }
  active = false;
  responseStream?.flush();
  responseStream = undefined;
  sampleMemory();
  send(outcome);
}

try {
  const handler = await loadHandler();
  port.on('message', (message: MessageToThread) => {
    if (message.kind === 'written') responseStream?.credit(message.bytes);
    else void invoke(handler, message.requestId, message.payload);
  });
  active = false;
  send({ kind: 'loaded' });
  // The pool terminates a thread without notice, so the compiled code is written now.
  flushCompileCache();
} catch (error) {
  send({ kind: 'load-failed', error: reportError(error) });
}
