import { DecryptCommand, EncryptCommand, type KMSClient } from '@aws-sdk/client-kms';
import type { SecretCipher, SecretOwner } from '#domain/webhooks/secret-cipher.ts';

/** KMS's encryption context. It is not secret; decryption fails if it differs. */
const contextOf = ({ workspaceId, batchId }: SecretOwner) => ({ workspace: workspaceId, batch: batchId });

export const kmsSecretCipher = (client: KMSClient, keyId: string): SecretCipher => ({
  async encrypt(secret, owner) {
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

  async decrypt(encrypted, owner) {
    const { Plaintext } = await client.send(
      new DecryptCommand({
        KeyId: keyId,
        CiphertextBlob: Buffer.from(encrypted, 'base64'),
        EncryptionContext: contextOf(owner),
      }),
    );
    if (Plaintext === undefined) throw new Error('KMS gave no plaintext');
    return Buffer.from(Plaintext).toString();
  },
});
