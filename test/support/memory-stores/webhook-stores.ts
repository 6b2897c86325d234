import type { DeliveryStore } from '#domain/webhooks/delivery-store.ts';
import type { DeliveryAttempt, DeliveryOwner, WebhookDelivery } from '#domain/webhooks/webhook-delivery.ts';
import type { MemoryReconciliationIndex } from './reconciliation-index.ts';
import type { MemoryAudit } from './workspace-stores.ts';

export interface MemoryDeliveryStore {
  /** The webhook itself is stored with its batch. */
  deliveries: Omit<DeliveryStore, 'replaceWebhook'>;
  /** For the transactions of other stores. */
  add(delivery: WebhookDelivery): void;
}

export function memoryDeliveryStore(
  { addWebhook }: Pick<MemoryReconciliationIndex, 'addWebhook'>,
  audit: MemoryAudit,
): MemoryDeliveryStore {
  const stored = new Map<string, { delivery: WebhookDelivery; attempts: Map<number, DeliveryAttempt> }>();
  const nameOf = ({ workspaceId, batchId }: DeliveryOwner): string => JSON.stringify([workspaceId, batchId]);
  const attemptsOf = (owner: DeliveryOwner): Map<number, DeliveryAttempt> =>
    stored.get(nameOf(owner))?.attempts ?? new Map();
  /** False, and nothing changed, if another caller has changed the delivery since it was read. */
  const change = (read: WebhookDelivery, changes: Partial<WebhookDelivery>): boolean => {
    const current = stored.get(nameOf(read));
    if (
      current === undefined ||
      current.delivery.state !== read.state ||
      current.delivery.round !== read.round ||
      current.delivery.attempts !== read.attempts
    )
      return false;
    current.delivery = { ...read, ...changes };
    return true;
  };
  const storeAttempt = (owner: DeliveryOwner, attempt: DeliveryAttempt) =>
    void attemptsOf(owner).set(attempt.number, { ...attempt });

  const deliveries: MemoryDeliveryStore['deliveries'] = {
    get: async (owner) => structuredClone(stored.get(nameOf(owner))?.delivery),
    async start(read, { at, nextAt }) {
      const delivery = {
        ...read,
        attempts: read.attempts + 1,
        allAttempts: read.allAttempts + 1,
        nextAt,
      };
      if (!change(read, delivery)) return undefined;
      const attempt = {
        ...{ number: delivery.allAttempts, round: delivery.round, at },
        ...{ duration: null, status: null, failure: null },
      };
      storeAttempt(read, attempt);
      return { delivery, attempt };
    },
    async end(read, attempt, { state, nextAt }) {
      change(read, { state, nextAt });
      storeAttempt(read, attempt);
    },
    async exhaust(read) {
      change(read, { state: 'exhausted' });
    },
    async restart(read, at) {
      const restarted: WebhookDelivery = {
        ...{ ...read, state: 'pending', round: read.round + 1, attempts: 0, nextAt: at },
      };
      if (!change(read, restarted)) return undefined;
      const { workspaceId, batchId } = read;
      addWebhook({ workspaceId, batchId, due: at });
      const changes = { round: restarted.round };
      audit({ action: 'webhook resent', workspaceId, target: batchId, changes });
      return restarted;
    },
    attempts: async (owner) =>
      structuredClone([...attemptsOf(owner).values()]).sort((one, other) => one.number - other.number),
  };
  return {
    deliveries,
    add: (delivery) => void stored.set(nameOf(delivery), { delivery: { ...delivery }, attempts: new Map() }),
  };
}
