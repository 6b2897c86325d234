import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { getSchemaSerdePlugin } from '@smithy/core/schema';
import { ItemProtocol } from './item-protocol.ts';
import { SigningDigest } from './signing-digest.ts';

/**
 * Settings of a client for operations on items. With them the SDK builds the middleware stack once per command type.
 */
export const itemClientSettings = {
  cacheMiddleware: true,
  protocol: ItemProtocol,
  sha256: SigningDigest,
} as const;

/**
 * Middleware that only costs time here: it prepares inputs and outputs for a logger that is not set, forwards the trace
 * header by which AWS detects recursive function calls, and reports the used SDK features to AWS.
 */
export const unusedMiddleware = [
  'loggerMiddleware',
  'recursionDetectionMiddleware',
  'getUserAgentMiddleware',
];

/**
 * Makes calls of the client cheaper. It removes unused middleware, and caches the signer, which the SDK creates for
 * each call. It also replaces the config by a copy: the SDK copies the config three times a call, and V8 copies an
 * object that is itself a copy in 1 µs instead of 10 µs.
 */
export function optimizedClient(client: DynamoDBClient): DynamoDBClient {
  for (const name of unusedMiddleware) client.middlewareStack.remove(name);
  const makeSigner = client.config.signer;
  let signer: ReturnType<typeof makeSigner> | undefined;
  client.config.signer = (authScheme) => {
    if (signer === undefined) {
      signer = makeSigner(authScheme);
      signer.catch(() => {
        signer = undefined;
      });
    }
    return signer;
  };
  Object.assign(client, { config: { ...client.config } });
  client.middlewareStack.use(getSchemaSerdePlugin(client.config));
  return client;
}
