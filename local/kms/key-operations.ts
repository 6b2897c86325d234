import { randomBytes } from 'node:crypto';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';
import { decrypt, type EncryptionContext, encrypt, keyIdOf } from './ciphertext.ts';

export interface Key {
  readonly id: string;
  readonly arn: string;
  readonly enabled: boolean;
  readonly material: Buffer;
}

type Input = Record<string, unknown>;

// KMS's limit for the plaintext of Encrypt.
const MAX_PLAINTEXT_BYTES = 4096;

const MAX_DATA_KEY_BYTES = 1024;

/** The operations of KMS on symmetric keys. `find` finds a key by id, ARN or alias. */
export function keyOperations(
  find: (reference: string) => Key | undefined,
): Record<string, AwsJsonOperation> {
  function usableKey(reference: unknown): Key {
    const key = find(String(reference));
    if (!key) throw new AwsJsonError('NotFoundException', `Key '${reference}' does not exist`);
    if (key.enabled) return key;
    throw new AwsJsonError('DisabledException', `${key.arn} is disabled.`);
  }

  function dataKey(input: Input) {
    const key = usableKey(input.KeyId);
    const plaintext = randomBytes(dataKeyBytes(input));
    const ciphertext = encrypt(key.id, key.material, plaintext, contextOf(input));
    return { KeyId: key.arn, CiphertextBlob: ciphertext.toString('base64'), plaintext };
  }

  return {
    DescribeKey({ KeyId }) {
      const key = find(String(KeyId));
      if (!key) throw new AwsJsonError('NotFoundException', `Key '${KeyId}' does not exist`);
      return {
        KeyMetadata: {
          KeyId: key.id,
          Arn: key.arn,
          Enabled: key.enabled,
          KeyState: key.enabled ? 'Enabled' : 'Disabled',
          KeySpec: 'SYMMETRIC_DEFAULT',
          KeyUsage: 'ENCRYPT_DECRYPT',
        },
      };
    },

    Encrypt(input) {
      const key = usableKey(input.KeyId);
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
      const key = usableKey(keyId);
      if (input.KeyId !== undefined && usableKey(input.KeyId) !== key) {
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

    GenerateDataKey(input) {
      const { plaintext, ...response } = dataKey(input);
      return { ...response, Plaintext: plaintext.toString('base64') };
    },

    GenerateDataKeyWithoutPlaintext(input) {
      const { plaintext: _, ...response } = dataKey(input);
      return response;
    },
  };
}

function bytesOf(input: Input, field: string): Buffer {
  return Buffer.from(String(input[field] ?? ''), 'base64');
}

function contextOf({ EncryptionContext: given = {} }: Input): EncryptionContext {
  return given as EncryptionContext;
}

function dataKeyBytes({ KeySpec, NumberOfBytes }: Input): number {
  if ((KeySpec === undefined) === (NumberOfBytes === undefined)) {
    throw new AwsJsonError('ValidationException', 'Please specify either number of bytes or key spec.');
  }
  if (KeySpec === 'AES_256') return 32;
  if (KeySpec === 'AES_128') return 16;
  const bytes = Number(NumberOfBytes);
  if (Number.isInteger(bytes) && bytes >= 1 && bytes <= MAX_DATA_KEY_BYTES) return bytes;
  throw new AwsJsonError('ValidationException', `A data key has AES_128, AES_256 or 1 to 1024 bytes`);
}
