import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import { decrypt, type EncryptionContext, encrypt, keyIdOf } from './ciphertext.ts';

export interface Key {
  readonly id: string;
  readonly arn: string;
  readonly material: Buffer;
}

type Input = Record<string, unknown>;

// KMS's limit for the plaintext of Encrypt.
const MAX_PLAINTEXT_BYTES = 4096;

/** The operations of KMS on symmetric keys. `find` finds a key by id or ARN. */
export function keyOperations(
  find: (reference: string) => Key | undefined,
): Record<string, AwsJsonOperation> {
  function findKey(reference: unknown): Key {
    const key = find(String(reference));
    if (!key) throw new AwsJsonError('NotFoundException', `Key '${reference}' does not exist`);
    return key;
  }

  return {
    Encrypt(input) {
      const key = findKey(input.KeyId);
      const plaintext = bytesOf(input, 'Plaintext');
      if (plaintext.length < 1 || plaintext.length > MAX_PLAINTEXT_BYTES) {
        throw new AwsJsonError(
          'ValidationException',
          `Plaintext must have 1 to ${MAX_PLAINTEXT_BYTES} bytes`,
        );
      }
      const ciphertext = encrypt(key.id, key.material, plaintext, contextOf(input));
      return {
        KeyId: key.arn,
        CiphertextBlob: ciphertext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    },

    Decrypt(input) {
      const ciphertext = bytesOf(input, 'CiphertextBlob');
      const keyId = keyIdOf(ciphertext);
      if (keyId === undefined || !find(keyId)) throw new AwsJsonError('InvalidCiphertextException', '');
      const key = findKey(keyId);
      if (input.KeyId !== undefined && findKey(input.KeyId) !== key) {
        throw new AwsJsonError(
          'IncorrectKeyException',
          'The key ID in the request does not identify a CMK that can perform this operation.',
        );
      }
      let plaintext: Buffer;
      try {
        plaintext = decrypt(key.material, ciphertext, contextOf(input));
      } catch {
        throw new AwsJsonError('InvalidCiphertextException', '');
      }
      return {
        KeyId: key.arn,
        Plaintext: plaintext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    },
  };
}

function bytesOf(input: Input, field: string): Buffer {
  return Buffer.from(String(input[field] ?? ''), 'base64');
}

function contextOf({ EncryptionContext: given = {} }: Input): EncryptionContext {
  return given as EncryptionContext;
}
