import { depthHeader } from '#contract/limits.ts';
import type { ToolAuth } from '#contract/tools.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { ReadRemote, RemoteHttp, RemoteRequest } from '#domain/tools/remote-tools.ts';
import {
  type Credential,
  type CredentialTarget,
  maySendSecret,
  redactor,
} from '#domain/tools/tool-secret.ts';
import type { OutboundRules } from './addresses.ts';
import { ConnectionPool, sendOutbound } from './send-outbound.ts';

interface Options {
  /** The addresses in their `allow` may get a secret without TLS. */
  rules: OutboundRules;
  credentialOf: (auth: ToolAuth | undefined, target: CredentialTarget) => Promise<Credential>;
  /** How many replies the client's request has come through. */
  depth: () => number;
}

/** @throws OutboundFailure `forbidden` for an address that may get no secret (`maySendSecret`) */
export function rejectPlainHttp(url: URL, { allow }: Pick<OutboundRules, 'allow'>): void {
  if (!maySendSecret(url, allow)) throw new OutboundFailure('forbidden', 'A secret is sent over https alone');
}

const rejected = Symbol('rejected');

export const remoteHttp = ({ rules, credentialOf, depth }: Options): RemoteHttp => ({
  openPool: () => new ConnectionPool(),
  async send<Body>(request: RemoteRequest, read: ReadRemote<Body>): Promise<Body> {
    const { auth, method, body, timeout, maxBytes, signal, pool } = request;
    if (auth !== undefined) rejectPlainHttp(request.url, rules);
    for (let isRepeated = auth === undefined; ; isRepeated = true) {
      const credential = await credentialOf(auth, request);
      const url = new URL(request.url);
      // `searchParams` would write the other parameters anew, in another encoding.
      for (const [name, value] of Object.entries(credential.query))
        url.search += `${url.search ? '&' : '?'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
      const redact = redactor(credential.secrets);
      const response = await sendOutbound<Body | typeof rejected>(
        {
          ...{ url, method, maxBytes, signal, rules, redirects: 0, pool: pool as ConnectionPool },
          headers: {
            ...{ 'User-Agent': 'agent-service-tools', [depthHeader]: String(depth() + 1) },
            ...request.headers,
            ...credential.headers,
          },
          ...(body && { body }),
          times: { response: timeout, whole: timeout },
        },
        async ({ status, headers: received }, chunks) => {
          if (status >= 300 && status < 400)
            throw new OutboundFailure('redirects', 'The server redirects, which tools do not follow');
          if (status === 401 && !isRepeated) return rejected;
          const headers = Object.entries(received).map(([name, value]) => [name, String(value)]);
          return read({ status, headers: Object.fromEntries(headers), redact }, chunks);
        },
      );
      if (response.body !== rejected) return response.body;
      credential.forget();
    }
  },
});
