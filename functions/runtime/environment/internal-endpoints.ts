import process from 'node:process';
import { type HostAndPort, parseHostAndPort } from '#contract/host-and-port.ts';

/** Variables with addresses of Lambda itself, which serve the function's credentials and invocations. */
const lambdaVariables = ['AWS_LAMBDA_RUNTIME_API', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'];

/**
 * The endpoints in this function's environment variables. Requests to URLs from users must never reach them. AWS's
 * public endpoints are not included, because they accept only signed requests.
 */
export const internalEndpoints = (): HostAndPort[] =>
  Object.entries(process.env)
    .filter(([name]) => name.startsWith('AWS_ENDPOINT_URL') || lambdaVariables.includes(name))
    .flatMap(([, value = '']) => {
      const url = URL.parse(value.includes('://') ? value : `http://${value}`);
      if (url === null) return [];
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      return parseHostAndPort(`${url.hostname}:${port}`) ?? [];
    });
