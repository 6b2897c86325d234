import { DecryptCommand, EncryptCommand, type KMSClient } from '@aws-sdk/client-kms';
import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { timedCache } from '#domain/platform/promises.ts';

/** How long a process may take a replaced value for the current one. */
export const secretCacheMilliseconds = 5 * 60 * 1000;

/** A failed read is not cached. */
export const cachedSecret = (
  client: () => SecretsManagerClient,
  name: () => string,
): (() => Promise<string>) => cached(async () => (await readVersion(client(), name(), 'AWSCURRENT')).value);

export interface SecretVersions {
  current: string;
  /** In milliseconds since 1970. */
  since: number;
  previous: string | undefined;
}

/** @param overlap returns the milliseconds after a rotation in which the previous value matters */
export const cachedVersions = (
  client: () => SecretsManagerClient,
  name: () => string,
  overlap: () => number,
): (() => Promise<SecretVersions>) =>
  cached(async () => {
    const { value: current, since } = await readVersion(client(), name(), 'AWSCURRENT');
    if (Date.now() - since >= overlap()) return { current, since, previous: undefined };
    // Only after the first read: a concurrent one could precede the rotation and get the value before the previous one.
    const previous = await readVersion(client(), name(), 'AWSPREVIOUS').catch((error: unknown) => {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    });
    return { current, since, previous: previous?.value };
  });

function cached<Value>(read: () => Promise<Value>): () => Promise<Value> {
  const cache = timedCache<{ value: Value; until: number }>();
  const readOnce = async () => ({ until: Date.now() + secretCacheMilliseconds, value: await read() });
  return async () => (await cache('', Date.now(), readOnce).value).value;
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

/** KMS encrypts up to 4,096 bytes in a call. */
const bytesOfCall = 4096;

/**
 * The ciphertext is the base64 of each call's result, with spaces between them.
 * @param contextOf makes KMS's encryption context. It is not secret; decryption fails if it differs
 */
export const kmsSecretCipher = <Owner>(
  client: KMSClient,
  keyId: string,
  contextOf: (owner: Owner) => Record<string, string>,
) => ({
  async encrypt(text: string, owner: Owner): Promise<string> {
    const bytes = Buffer.from(text);
    const calls = Array.from({ length: Math.ceil(bytes.length / bytesOfCall) }, async (_, index) => {
      const { CiphertextBlob } = await client.send(
        new EncryptCommand({
          KeyId: keyId,
          Plaintext: bytes.subarray(index * bytesOfCall, (index + 1) * bytesOfCall),
          EncryptionContext: contextOf(owner),
        }),
      );
      if (CiphertextBlob === undefined) throw new Error('KMS gave no ciphertext');
      return Buffer.from(CiphertextBlob).toString('base64');
    });
    return (await Promise.all(calls)).join(' ');
  },

  async decrypt(encrypted: string, owner: Owner): Promise<string> {
    const calls = encrypted.split(' ').map(async (ciphertext) => {
      const { Plaintext } = await client.send(
        new DecryptCommand({
          KeyId: keyId,
          CiphertextBlob: Buffer.from(ciphertext, 'base64'),
          EncryptionContext: contextOf(owner),
        }),
      );
      if (Plaintext === undefined) throw new Error('KMS gave no plaintext');
      return Plaintext;
    });
    return Buffer.concat(await Promise.all(calls)).toString();
  },
});
