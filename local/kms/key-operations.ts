import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AwsJsonError, type AwsJsonOperation } from '../wire/serve-aws-json.ts';

export interface Key {
  readonly id: string;
  readonly arn: string;
  readonly material: Buffer;
}

// KMS's limit for the plaintext of Encrypt.
const MAX_PLAINTEXT_BYTES = 4096;

export function keyOperations(
  find: (reference: string) => Key | undefined,
): Record<string, AwsJsonOperation> {
  function findKey(reference: unknown): Key {
    const key = find(String(reference));
    if (!key) throw new AwsJsonError('NotFoundException', `Key '${reference}' does not exist`);
    return key;
  }
  const bytesOf = (value: unknown): Buffer => Buffer.from(String(value ?? ''), 'base64');

  return {
    Encrypt({ KeyId, Plaintext, EncryptionContext = {} }) {
      const key = findKey(KeyId);
      const plaintext = bytesOf(Plaintext);
      if (plaintext.length < 1 || plaintext.length > MAX_PLAINTEXT_BYTES)
        throw new AwsJsonError(
          'ValidationException',
          `Plaintext must have 1 to ${MAX_PLAINTEXT_BYTES} bytes`,
        );
      const ciphertext = encrypt(key.id, key.material, plaintext, EncryptionContext as EncryptionContext);
      return {
        KeyId: key.arn,
        CiphertextBlob: ciphertext.toString('base64'),
        EncryptionAlgorithm: 'SYMMETRIC_DEFAULT',
      };
    },

    Decrypt({ KeyId, CiphertextBlob, EncryptionContext = {} }) {
      const ciphertext = bytesOf(CiphertextBlob);
      const key = find(keyIdOf(ciphertext) ?? '');
      if (!key) throw new AwsJsonError('InvalidCiphertextException', '');
      if (KeyId !== undefined && findKey(KeyId) !== key)
        throw new AwsJsonError(
          'IncorrectKeyException',
          'The key ID in the request does not identify a CMK that can perform this operation.',
        );
      let plaintext: Buffer;
      try {
        plaintext = decrypt(key.material, ciphertext, EncryptionContext as EncryptionContext);
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

export type EncryptionContext = Readonly<Record<string, string>>;

const ALGORITHM = 'aes-256-gcm';
const VERSION = 1;
const KEY_ID_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Version, key id, nonce, tag and encrypted text. */
export function encrypt(
  keyId: string,
  key: Buffer,
  plaintext: Buffer,
  encryptionContext: EncryptionContext,
): Buffer {
  const head = Buffer.concat([Buffer.from([VERSION]), Buffer.from(keyId.replaceAll('-', ''), 'hex')]);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(authenticated(head, encryptionContext));
  const body = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([head, nonce, cipher.getAuthTag(), body]);
}

/** Undefined if `encrypt` cannot have returned these bytes. */
export function keyIdOf(ciphertext: Buffer): string | undefined {
  if (ciphertext[0] !== VERSION || ciphertext.length < 1 + KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES) {
    return undefined;
  }
  const hex = ciphertext.subarray(1, 1 + KEY_ID_BYTES).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** @throws Error if the key, the context or a byte of the ciphertext is wrong */
export function decrypt(key: Buffer, ciphertext: Buffer, encryptionContext: EncryptionContext): Buffer {
  const afterHead = 1 + KEY_ID_BYTES;
  const afterNonce = afterHead + NONCE_BYTES;
  const afterTag = afterNonce + TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, ciphertext.subarray(afterHead, afterNonce))
    .setAAD(authenticated(ciphertext.subarray(0, afterHead), encryptionContext))
    .setAuthTag(ciphertext.subarray(afterNonce, afterTag));
  return Buffer.concat([decipher.update(ciphertext.subarray(afterTag)), decipher.final()]);
}

/** The context's entries are sorted, because their order has no meaning. */
function authenticated(head: Buffer, encryptionContext: EncryptionContext): Buffer {
  const entries = Object.entries(encryptionContext).sort(([one], [other]) => (one < other ? -1 : 1));
  return Buffer.concat([head, Buffer.from(JSON.stringify(entries))]);
}
