import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Identifiers } from '#domain/platform/identifiers.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Encodes the bytes as one base-62 number: 32 bytes need at most 43 characters. */
function inBase62(bytes: Uint8Array, length: number): string {
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  while (number > 0n) {
    text = `${base62[Number(number % 62n)]}${text}`;
    number /= 62n;
  }
  return text.padStart(length, '0');
}

export const identifiers: Identifiers = {
  // UUIDs of version 7 increase with time, so the order of keys is the order of creation.
  uuid: () => v7(),
  workspaceId: () => `ws_${inBase62(randomBytes(12), 17)}`,
  apiKey: () => `ak_${inBase62(randomBytes(32), 43)}`,
  apiKeyId: () => `key_${inBase62(randomBytes(12), 17)}`,
};
