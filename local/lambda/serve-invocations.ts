import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type Listening, listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { denialNames, denialOf, type Guard } from '../wire/serve-aws-json.ts';
import { invokedArn } from './find-function.ts';
import type { InvokableFunction } from './invokable-function.ts';

const INVOKE = /^\/2015-03-31\/functions\/([^/?]+)\/invocations/;

export async function serveInvocations(
  find: (reference: string) => InvokableFunction | undefined,
  guard: Guard,
): Promise<Listening> {
  const server = createServer((request, response) => {
    respond(find, guard, request, response).catch((error) =>
      reject(response, 500, 'ServiceException', String(error)),
    );
  });
  return await listenOnLoopback(server);
}

async function respond(
  find: (reference: string) => InvokableFunction | undefined,
  guard: Guard,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const reference = decodeURIComponent(INVOKE.exec(request.url ?? '')?.[1] ?? '');
  const calledFunction = request.method === 'POST' ? find(reference) : undefined;
  const payload = await text(request);
  const unknown = reference.startsWith('arn:') ? reference : '*';
  const resource = calledFunction ? invokedArn(calledFunction, reference) : unknown;
  const denial = denialOf(guard, request, payload, [{ action: 'lambda:InvokeFunction', resource }]);
  if (denial) return reject(response, 403, denialNames[denial.reason], denial.message);
  if (calledFunction === undefined)
    return reject(response, 404, 'ResourceNotFoundException', `Function not found: ${reference}`);
  const invocationType = request.headers['x-amz-invocation-type'] ?? 'RequestResponse';
  if (invocationType !== 'RequestResponse')
    return reject(
      response,
      400,
      'InvalidParameterValueException',
      `${invocationType} is not available locally`,
    );
  const result = await calledFunction.invoke(payload || '{}');
  if (!result.succeeded && result.throttle !== undefined)
    return send(response, 429, result.errorType, {
      Reason: result.throttle,
      Type: 'User',
      message: result.errorMessage,
    });
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'X-Amz-Executed-Version': '$LATEST',
    ...(!result.succeeded && { 'X-Amz-Function-Error': 'Unhandled' }),
  });
  if (result.succeeded) response.end(result.payload);
  else response.end(JSON.stringify({ errorType: result.errorType, errorMessage: result.errorMessage }));
}

const reject = (response: ServerResponse, status: number, name: string, message: string): void =>
  send(response, status, name, { Message: message });

function send(response: ServerResponse, status: number, name: string, body: object): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { 'Content-Type': 'application/json', 'x-amzn-errortype': name });
  response.end(JSON.stringify(body));
}
