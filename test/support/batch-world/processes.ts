import { advanceBatch, dispatchBatch, failBatch } from '#domain/batches/advance-batch.ts';
import { wantsWebhook } from '#domain/batches/batch.ts';
import type { SlotMessage } from '#domain/batches/batch-store.ts';
import { workOnSlot } from '#domain/batches/worker.ts';
import { deliverWebhook } from '#domain/webhooks/deliver-webhook.ts';
import type { WorkflowFunctions } from './memory-workflow.ts';
import type { WorldServices, WorldState } from './world-services.ts';

/** The functions of batches. Each call is a process, which dies where the test says. */
export function createProcesses(all: WorldServices, state: WorldState) {
  /** Calls a use case as one process, which may die. @throws Error if it died */
  const invoke = async <Result>(call: (ports: WorldServices) => Promise<Result>): Promise<Result> => {
    if (state.diesAfter === undefined) return call(all);
    const process = mortalServices(all, state.diesAfter);
    const result = await call(process.services);
    if (process.isDead()) throw new Error('The process has died');
    return result;
  };
  const work = (message: SlotMessage): Promise<void> =>
    // The message is deleted also if the process has died.
    invoke((ports) => workOnSlot(ports, message)).catch(() => undefined);
  const functions: WorkflowFunctions = {
    dispatch: (input) => invoke((ports) => dispatchBatch(ports, input)),
    advance: (input) =>
      invoke(async (ports) => {
        const { batch, stage } = await advanceBatch(ports, input);
        return { stage, webhook: wantsWebhook(batch) };
      }),
    fail: (input) => invoke(async (ports) => ({ webhook: wantsWebhook(await failBatch(ports, input)) })),
    deliver: (input) => invoke((ports) => deliverWebhook(ports, input)),
  };
  return { invoke, work, functions };
}

/** The ports through which a process changes anything. */
const mortalPorts = ['batches', 'chats', 'deliveries', 'messages', 'webhookSender'] as const;

/** A process that dies after a call: the call is done, its response is lost, and the process can call nothing more. */
function mortalServices(services: WorldServices, diesAfter: (call: string) => boolean) {
  let isDead = false;
  const wrapped = mortalPorts.map((port) => {
    const mortal = Object.entries(services[port]).map(([method, original]) => {
      const call = async (...input: unknown[]): Promise<unknown> => {
        if (isDead) throw new Error('The process has died');
        const value = await original(...input);
        isDead ||= diesAfter(`${port}.${method}`);
        if (isDead) throw new Error('The process has died');
        return value;
      };
      // An iteration is not a promise.
      return [method, method === 'range' ? original : call];
    });
    return [port, Object.fromEntries(mortal)];
  });
  return { services: { ...services, ...Object.fromEntries(wrapped) } as WorldServices, isDead: () => isDead };
}
