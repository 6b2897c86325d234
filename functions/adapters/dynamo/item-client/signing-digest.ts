import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';

type Data = string | ArrayBuffer | ArrayBufferView;

/** Key objects of secrets given as text: these are the credentials themselves, few in one environment. */
const secretKeys = new Map<string, KeyObject>();
/** Key objects of derived keys. The SDK derives them from the credentials for a day and caches them. */
const derivedKeys = new WeakMap<object, KeyObject>();

const maxCachedSecrets = 50;

/**
 * SHA-256 and HMAC for the SDK's signatures (its option `sha256`). It accepts only one `update`. The SDK's own class
 * creates a key object in each call, which takes longer than the digest; this one caches key objects.
 */
export class SigningDigest {
  readonly digestLength = 32;
  readonly #key: KeyObject | undefined;
  #data: string | Uint8Array = '';

  constructor(secret?: Data) {
    this.#key = secret === undefined ? undefined : keyOf(secret);
  }

  update(data: Data): void {
    if (this.#data.length > 0) throw new Error('SigningDigest accepts only one update');
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
    if (secretKeys.size === maxCachedSecrets) secretKeys.clear();
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
