import { createServer, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { authorizationOf } from '#local/iam/signature.ts';

export interface SigningProxy {
  url: string;
  close(): void;
}

/** Leads a run to the tables of another one: a run signs for an engine that looks at no signature, and a run looks. */
export async function startSigningProxy(wire: string): Promise<SigningProxy> {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const stored = ['content-type', 'x-amz-security-token', 'x-amz-target'].flatMap((name) => {
      const value = request.headers[name];
      return value === undefined ? [] : [[name, String(value)] as const];
    });
    const headers = {
      ...Object.fromEntries(stored),
      host: new URL(wire).host,
      'x-amz-date': new Date().toISOString().replaceAll(/[-:]|\.\d+/g, ''),
    };
    const authorization = authorizationOf(
      { method: 'POST', url: '/', headers },
      body.toString(),
      operatorCredentials,
      { region: 'us-east-1', service: 'dynamodb' },
    );
    const passed = openRequest(
      wire,
      { method: 'POST', headers: { ...headers, authorization } },
      (upstreamResponse) => {
        response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.headers);
        upstreamResponse.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    passed.end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
