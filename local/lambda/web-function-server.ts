import { Agent } from 'node:http';
import { createThrottle } from '../gateway/method-throttles.ts';
import { callEnvironment, platformResponse, type WebRequest, type WebResponse } from './call-environment.ts';
import { createWebEnvironments } from './web-environments.ts';
import type { WebFunctionDefinition } from './web-function-definition.ts';

export interface WebFunctionServer {
  readonly logicalId: string;
  readonly functionName: string;
  /** Resolves when the headers of the response have arrived. Never rejects. */
  send(request: WebRequest): Promise<WebResponse>;
  /** Starts an environment before the first request. Resolves when it listens, or has failed. */
  prewarm(): Promise<void>;
  /** Whether each environment has requests. */
  environments(): readonly { readonly busy: boolean }[];
  /** Ends all environments at once, busy ones too. Returns how many. */
  kill(): number;
  /** Ends the oldest environments as Lambda does: SIGTERM, and the end a second later. Returns how many. */
  shutDown(count: number): number;
  close(): Promise<void>;
}

/** Serves the environments of one web function under the limits of its endpoint. */
export function startWebFunction(definition: WebFunctionDefinition): WebFunctionServer {
  const agent = new Agent({ keepAlive: true });
  const { requestsPerSecond } = definition.limits;
  const isWithinRate = createThrottle();
  const environments = createWebEnvironments(definition);
  const { logicalId, functionName, domainName, timeoutSeconds } = definition;

  /** Lambda does not document how it counts the requests of a second. Here, all of them may come at once. */
  const isTooFast = (): boolean =>
    requestsPerSecond !== undefined &&
    !isWithinRate(definition, { requestsPerSecond, burst: requestsPerSecond });

  return {
    logicalId,
    functionName,
    async send(request) {
      const environment = isTooFast() ? undefined : environments.take();
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
    prewarm: environments.prewarm,
    environments: environments.all,
    kill: environments.kill,
    shutDown: environments.shutDown,
    async close() {
      agent.destroy();
      await environments.close();
    },
  };
}
