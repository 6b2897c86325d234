import { Agent } from 'node:http';
import { createThrottle } from '../gateway/method-throttles.ts';
import { callEnvironment, platformResponse, type WebRequest, type WebResponse } from './call-environment.ts';
import { createWebEnvironments } from './web-environments.ts';
import type { WebFunctionDefinition } from './web-function-environment.ts';

/** Serves the environments of one web function under the limits of its endpoint. */
export function startWebFunction(definition: WebFunctionDefinition) {
  const agent = new Agent({ keepAlive: true });
  const { requestsPerSecond } = definition.limits;
  const isWithinRate = createThrottle();
  const { take, close, ...environments } = createWebEnvironments(definition);
  const { logicalId, functionName, domainName, timeoutSeconds } = definition;

  /** Lambda does not document how it counts the requests of a second. Here, all of them may come at once. */
  const isTooFast = (): boolean =>
    requestsPerSecond !== undefined &&
    !isWithinRate(definition, { requestsPerSecond, burst: requestsPerSecond });

  return {
    logicalId,
    functionName,
    /** Resolves when the headers of the response have arrived. Never rejects. */
    async send(request: WebRequest): Promise<WebResponse> {
      const environment = isTooFast() ? undefined : take();
      if (environment === undefined) return platformResponse(429, 'Platform.Throttled');
      const address = await environment.ready().catch(() => undefined);
      if (address === undefined) {
        environment.release();
        return platformResponse(502, 'Runtime.InitError');
      }
      const response = await callEnvironment(request, { agent, address, domainName, timeoutSeconds });
      response.body.once('close', () => environment.release());
      return response;
    },
    ...environments,
    async close(): Promise<void> {
      agent.destroy();
      await close();
    },
  };
}

export type WebFunctionServer = ReturnType<typeof startWebFunction>;
