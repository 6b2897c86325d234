import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** A replaced secret takes effect within five minutes. */
const cacheMilliseconds = 5 * 60 * 1000;

/** Reads a secret's value and caches it. A failed read is not cached. */
export function cachedSecret(client: () => SecretsManagerClient, name: () => string): () => Promise<string> {
  let cached: { value: Promise<string>; until: number } | undefined;
  const read = async (): Promise<string> => {
    const response = await client().send(new GetSecretValueCommand({ SecretId: name() }));
    if (response.SecretString === undefined) throw new Error('The secret has no text');
    return response.SecretString;
  };
  return () => {
    if (cached === undefined || cached.until < Date.now()) {
      const value = read();
      cached = { value, until: Date.now() + cacheMilliseconds };
      value.catch(() => {
        cached = undefined;
      });
    }
    return cached.value;
  };
}
