import { DecryptCommand, EncryptCommand, type KMSClient } from '@aws-sdk/client-kms';
import type { SecretCipher, SecretOwner } from '#domain/webhooks/secret-cipher.ts';

/** KMS's encryption context. It is not secret; decryption fails if it differs. */
const contextOf = ({ workspaceId, batchId }: SecretOwner) => ({ workspace: workspaceId, batch: batchId });

/**
 * KMS encrypts up to 4,096 bytes in a call. An address of 2,048 ASCII characters and a secret fit. An address of as many
 * other characters takes further calls.
 */
const bytesOfCall = 4096;

/** The ciphertext is base64 of each call's result, with spaces between them. */
export const kmsSecretCipher = (client: KMSClient, keyId: string): SecretCipher => ({
  async encrypt(text, owner) {
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

  async decrypt(encrypted, owner) {
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
