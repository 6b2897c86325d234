import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { v7 } from 'uuid';
import type { Clock, Identifiers } from '#domain/platform/services.ts';

let currentActor: string | undefined;

/** Must be called before the first change that the audit log records. */
export function actAs(actor: string): void {
  currentActor = actor;
}

/** @throws Error if no actor is set: the audit log must name one for every change */
export function actor(): string {
  if (currentActor === undefined) throw new Error('No actor is set for this change');
  return currentActor;
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** 32 bytes need at most 43 characters, and 12 bytes 17. */
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
  // UUIDs of version 7 begin with the time, so that keys sort by the time of creation.
  uuid: () => v7(),
  workspaceId: () => `ws_${inBase62(randomBytes(12), 17)}`,
  apiKey: () => `ak_${inBase62(randomBytes(32), 43)}`,
  apiKeyId: () => `key_${inBase62(randomBytes(12), 17)}`,
};

export interface InvocationContext {
  readonly environmentFields: Readonly<Record<string, unknown>>;
  readonly properties: Record<string, string | undefined>;
  /** Undefined in functions that serve the API: there, calls to AWS have few attempts. */
  readonly remainingMilliseconds: (() => number) | undefined;
  agentDepth?: number;
}

const key = Symbol.for('agent-service.invocation-context');
const shared = globalThis as { [key]?: AsyncLocalStorage<InvocationContext> };

/** Global, because a lazily imported file of a function may contain its own copy of this module. */
export function invocationContext(): AsyncLocalStorage<InvocationContext> {
  shared[key] ??= new AsyncLocalStorage();
  return shared[key];
}

export const clock: Clock = {
  now: () => new Date(),
  after: (milliseconds, call) => {
    const timer = setTimeout(call, milliseconds);
    return () => clearTimeout(timer);
  },
  every: (milliseconds, call) => {
    const timer = setInterval(call, milliseconds);
    return () => clearInterval(timer);
  },
};

/** Its timers run outside of the context of the request that set them. */
export const processClock: Clock = {
  ...clock,
  after: (milliseconds, call) => invocationContext().exit(() => clock.after(milliseconds, call)),
  every: (milliseconds, call) => invocationContext().exit(() => clock.every(milliseconds, call)),
};
