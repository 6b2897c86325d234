import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

type Data = string | ArrayBuffer | ArrayBufferView;

/** Of secrets that are the credentials themselves: few live in one environment. */
const secretKeys = new Map<string, KeyObject>();
/** Of keys that the SDK derives from them for a day, and keeps. */
const derivedKeys = new WeakMap<object, KeyObject>();

const cachedSecrets = 50;

/**
 * SHA-256 and its HMAC as the SDK signs with them (its option `sha256`), over one piece of data. The SDK's own makes a
 * key object for each call, which takes longer than the digest.
 */
export class SigningDigest {
  readonly digestLength = 32;
  readonly #key: KeyObject | undefined;
  #data: string | Uint8Array = '';

  constructor(secret?: Data) {
    this.#key = secret === undefined ? undefined : keyOf(secret);
  }

  update(data: Data): void {
    if (this.#data.length > 0) throw new Error('A signature is of one piece of data');
    this.#data = plain(data);
  }

  async digest(): Promise<Uint8Array> {
    if (this.#key === undefined) return hash('sha256', this.#data, 'buffer');
    return createHmac('sha256', this.#key).update(this.#data).digest();
  }

  reset(): void {
    this.#data = '';
  }
}

function keyOf(secret: Data): KeyObject {
  const known = typeof secret === 'string' ? secretKeys.get(secret) : derivedKeys.get(secret);
  if (known !== undefined) return known;
  const key = createSecretKey(Buffer.from(plain(secret) as Uint8Array));
  if (typeof secret !== 'string') derivedKeys.set(secret, key);
  else {
    if (secretKeys.size === cachedSecrets) secretKeys.clear();
    secretKeys.set(secret, key);
  }
  return key;
}

function plain(data: Data): string | Uint8Array {
  if (typeof data === 'string' || data instanceof Uint8Array) return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
