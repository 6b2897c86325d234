/** Writes of the ports: after each of them a process may die. */
const writes: Readonly<Record<string, readonly string[]>> = {
  batches: [
    'create',
    'saveTaskToken',
    'topUp',
    'acquire',
    'take',
    'renew',
    'pass',
    'retire',
    'stop',
    'complete',
    'incrementExecutionNumber',
    'claim',
    'replaceItem',
  ],
  batchQueue: ['send'],
  batchWorkflow: ['start', 'completeTaskCallback'],
  chats: ['takeLease', 'renewLease', 'releaseLease'],
  deliveries: ['start', 'end', 'exhaust', 'restart'],
  idempotency: ['store'],
  messages: ['put', 'putAndRelease'],
  reconciliationIndex: ['removeOpenBatch', 'moveWebhook', 'removeWebhook'],
  usage: ['add'],
  webhookSender: ['post'],
};

class Killed extends Error {
  override readonly name = 'Killed';
}

export interface Killer {
  /** Called after each write. @returns whether the process dies now */
  diesAfter(write: string): boolean;
}

/**
 * Ports of one process, which dies after a write: the write is done, its response is lost, and the process can call
 * nothing any more.
 */
export function mortalServices<Services extends object>(
  services: Services,
  killer: Killer,
): { services: Services; isDead: () => boolean } {
  let isDead = false;
  const wrapped = Object.entries(services).map(([port, value]) => {
    const methods = writes[port];
    if (methods === undefined) return [port, value];
    const mortal = Object.entries(value as Record<string, unknown>).map(([method, original]) => {
      if (typeof original !== 'function') return [method, original];
      const call = (...input: unknown[]): unknown => {
        if (isDead) throw new Killed(`${port}.${method}`);
        const result = original(...input);
        if (!methods.includes(method)) return result;
        return (result as Promise<unknown>).then((value) => {
          if (isDead) throw new Killed(`${port}.${method}`);
          if (!killer.diesAfter(`${port}.${method}`)) return value;
          isDead = true;
          throw new Killed(`${port}.${method}`);
        });
      };
      return [method, call];
    });
    return [port, Object.fromEntries(mortal)];
  });
  return { services: Object.fromEntries(wrapped) as Services, isDead: () => isDead };
}
