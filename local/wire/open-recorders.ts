import type { RunContext } from '../run-context.ts';
import { recordCalls } from './record-calls.ts';

export interface Recorders {
  /** The variables of a function, with recorders for the services that it is led to. */
  inFront(variables: Record<string, string>): Record<string, string>;
  close(): Promise<void>;
}

export const noRecorders: Recorders = { inFront: (variables) => variables, close: async () => {} };

/** Tables have a wire of their own, which also tells what a call consumed. */
const RECORDED_ELSEWHERE = 'dynamodb';

/** One recorder for each service that has an address now. */
export async function openRecorders({ endpoints, calls }: RunContext): Promise<Recorders> {
  const wires = await Promise.all(
    Object.entries(endpoints)
      .filter(([service, endpoint]) => endpoint !== '' && service !== RECORDED_ELSEWHERE)
      .map(async ([service, endpoint]) => ({
        endpoint,
        wire: await recordCalls({ service, endpoint, retain: (call) => calls.push(call) }),
      })),
  );
  const addressOf = new Map(wires.map(({ endpoint, wire }) => [endpoint, wire.endpoint]));
  return {
    inFront: (variables) =>
      Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [
          name,
          name.startsWith('AWS_ENDPOINT_URL_') ? (addressOf.get(value) ?? value) : value,
        ]),
      ),
    async close() {
      await Promise.all(wires.map(({ wire }) => wire.close()));
    },
  };
}
