import type { RunContext } from '../run-context.ts';
import { recordCalls } from './record-calls.ts';

export interface Recorders {
  /** The variables of a function, with the recorders' URLs instead of the services'. */
  redirect(variables: Record<string, string>): Record<string, string>;
  close(): Promise<void>;
}

export const noRecorders: Recorders = { redirect: (variables) => variables, close: async () => {} };

/** DynamoDB has its own wire, which also records the consumed capacity. */
const RECORDED_ELSEWHERE = 'dynamodb';

/** One recorder for each service that has an endpoint now. */
export async function openRecorders({ endpoints, calls }: RunContext): Promise<Recorders> {
  const wires = await Promise.all(
    Object.entries(endpoints)
      .filter(([service, endpoint]) => endpoint !== '' && service !== RECORDED_ELSEWHERE)
      .map(async ([service, endpoint]) => ({
        endpoint,
        wire: await recordCalls({ service, endpoint, onCall: (call) => calls.push(call) }),
      })),
  );
  const recorderOf = new Map(wires.map(({ endpoint, wire }) => [endpoint, wire.endpoint]));
  return {
    redirect: (variables) =>
      Object.fromEntries(
        Object.entries(variables).map(([name, value]) => [
          name,
          name.startsWith('AWS_ENDPOINT_URL_') ? (recorderOf.get(value) ?? value) : value,
        ]),
      ),
    async close() {
      await Promise.all(wires.map(({ wire }) => wire.close()));
    },
  };
}
