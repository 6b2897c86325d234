import { createServer, request as openRequest } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { authorizationOf, type Credentials } from '#local/iam/signature.ts';
import { type LocalServer, listenLocally } from './listen-locally.ts';

/**
 * A proxy that signs the calls of a run with other credentials: those of the operator, to use the tables of another run,
 * whose endpoint checks signatures; or those of a database in DynamoDB Local, which has one for each access key.
 */
export async function startSigningProxy(
  endpoint: string,
  credentials: Credentials = operatorCredentials,
): Promise<LocalServer> {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const forwardedHeaders = ['content-type', 'x-amz-security-token', 'x-amz-target'].flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, String(value)] as const];
    });
    const headers = {
      ...Object.fromEntries(forwardedHeaders),
      host: new URL(endpoint).host,
      'x-amz-date': new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ''),
    };
    const authorization = authorizationOf(
      { method: 'POST', url: '/', headers },
      body.toString(),
      credentials,
      { region: 'us-east-1', service: 'dynamodb' },
    );
    const forwarded = openRequest(
      endpoint,
      { method: 'POST', headers: { ...headers, authorization } },
      (upstreamResponse) => {
        response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
        upstreamResponse.pipe(response);
      },
    );
    forwarded.on('error', () => response.destroy());
    forwarded.end(body);
  });
  return listenLocally(server);
}
