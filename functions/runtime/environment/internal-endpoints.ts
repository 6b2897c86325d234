import process from 'node:process';
import { type HostAndPort, parseHostAndPort } from '#contract/host-and-port.ts';

/** Addresses that Lambda itself gives to a function, with credentials or with the invocations of this one behind them. */
const givenByLambda = ['AWS_LAMBDA_RUNTIME_API', 'AWS_CONTAINER_CREDENTIALS_FULL_URI'];

/**
 * Where the services are that this function's variables name: nobody outside may make it send a request there.
 * A public address of AWS that no variable names is not among them: it asks everybody for a signature.
 */
export const internalEndpoints = (): HostAndPort[] =>
  Object.entries(process.env)
    .filter(([name]) => name.startsWith('AWS_ENDPOINT_URL') || givenByLambda.includes(name))
    .flatMap(([, value = '']) => {
      const url = URL.parse(value.includes('://') ? value : `http://${value}`);
      if (url === null) return [];
      const port = url.port || (url.protocol === 'https:' ? '443' : '80');
      return parseHostAndPort(`${url.hostname}:${port}`) ?? [];
    });
