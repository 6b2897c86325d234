import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { createThrottle } from '../gateway/method-throttles.ts';
import { forwardToWebFunction } from './forward-to-web-function.ts';
import type { WebFunctionDefinition } from './web-function-definition.ts';
import { type Environment, startEnvironment } from './web-function-environment.ts';

export interface WebFunctionServer {
  respond(request: IncomingMessage, response: ServerResponse): Promise<void>;
  close(): Promise<void>;
}

/** Serves one environment. The first request starts it. After it has ended, the next request starts a new one. */
export function startWebFunction(definition: WebFunctionDefinition): WebFunctionServer {
  let environment: Promise<Environment> | undefined;
  const agent = new Agent({ keepAlive: true });
  const { requestsPerSecond, concurrency } = definition.limits;
  const isWithinRate = createThrottle();
  let activeRequests = 0;

  /** Lambda does not document how it counts the requests of a second. Here, all of them may come at once. */
  const isThrottled = (): boolean =>
    activeRequests >= concurrency ||
    (requestsPerSecond !== undefined &&
      !isWithinRate(definition, { requestsPerSecond, burst: requestsPerSecond }));

  async function ready(): Promise<number> {
    environment ??= startEnvironment(definition, () => {
      environment = undefined;
    });
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
      const { domainName, timeoutSeconds } = definition;
      forwardToWebFunction(request, response, { agent, port, domainName, timeoutSeconds });
    },
    async close() {
      agent.destroy();
      await (await environment)?.worker.terminate();
    },
  };
}
