import { DecryptCommand, EncryptCommand, type KMSClient } from '@aws-sdk/client-kms';
import type { SecretOwner, SecretSealer } from '#domain/webhooks/secret-sealer.ts';

/** Goes with the seal, unencrypted: without the same one it does not open. */
const contextOf = ({ workspaceId, batchId }: SecretOwner) => ({ workspace: workspaceId, batch: batchId });

export const kmsSecretSealer = (client: KMSClient, keyId: string): SecretSealer => ({
  async seal(secret, owner) {
    const { CiphertextBlob } = await client.send(
      new EncryptCommand({
        KeyId: keyId,
        Plaintext: Buffer.from(secret),
        EncryptionContext: contextOf(owner),
      }),
    );
    if (CiphertextBlob === undefined) throw new Error('KMS gave no ciphertext');
    return Buffer.from(CiphertextBlob).toString('base64');
  },

  async open(sealed, owner) {
    const { Plaintext } = await client.send(
      new DecryptCommand({
        KeyId: keyId,
        CiphertextBlob: Buffer.from(sealed, 'base64'),
        EncryptionContext: contextOf(owner),
      }),
    );
    if (Plaintext === undefined) throw new Error('KMS gave no plaintext');
    return Buffer.from(Plaintext).toString();
  },
});
