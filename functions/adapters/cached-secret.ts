import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';

/** A replaced secret takes effect within five minutes. */
export const secretCacheMilliseconds = 5 * 60 * 1000;

/** Reads a secret's value and caches it. A failed read is not cached. */
export const cachedSecret = (
  client: () => SecretsManagerClient,
  name: () => string,
): (() => Promise<string>) => cached(async () => (await readVersion(client(), name(), 'AWSCURRENT')).value);

/** The values of a secret around its last rotation. */
export interface SecretVersions {
  current: string;
  /** Epoch milliseconds at which the current value replaced the previous one. */
  since: number;
  /** Undefined if there was no rotation, or if the last one was long ago. */
  previous: string | undefined;
}

/**
 * Reads a secret's current value, and the previous one if the rotation was recent. Caches both, but no failed read.
 * @param overlap milliseconds after a rotation in which the previous value matters
 */
export const cachedVersions = (
  client: () => SecretsManagerClient,
  name: () => string,
  overlap: () => number,
): (() => Promise<SecretVersions>) =>
  cached(async () => {
    const { value: current, since } = await readVersion(client(), name(), 'AWSCURRENT');
    if (Date.now() - since >= overlap()) return { current, since, previous: undefined };
    // Not concurrently with the first read: before a rotation, the label of the previous value is on an older one.
    const previous = await readVersion(client(), name(), 'AWSPREVIOUS').catch((error: unknown) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    });
    return { current, since, previous: previous?.value };
  });

function cached<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let last: { value: Promise<Value>; until: number } | undefined;
  return () => {
    if (last === undefined || last.until < Date.now()) {
      const value = read();
      last = { value, until: Date.now() + secretCacheMilliseconds };
      value.catch(() => {
        last = undefined;
      });
    }
    return last.value;
  };
}

async function readVersion(
  client: SecretsManagerClient,
  SecretId: string,
  VersionStage: 'AWSCURRENT' | 'AWSPREVIOUS',
): Promise<{ value: string; since: number }> {
  const response = await client.send(new GetSecretValueCommand({ SecretId, VersionStage }));
  if (response.SecretString === undefined) throw new Error('The secret has no text');
  return { value: response.SecretString, since: response.CreatedDate?.getTime() ?? 0 };
}
