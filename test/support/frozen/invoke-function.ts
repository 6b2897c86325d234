import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { operatorAt } from '../data-table.ts';

type Run = { endpoints: { lambda: string }; physicalIds: Record<string, string> };

/** Invokes functions of a run as AWS's own services do, each by the name of its construct, such as `DispatchBatch`. */
export function invokerOf({ endpoints, physicalIds }: Run) {
  const lambda = new LambdaClient(operatorAt(endpoints.lambda));
  const nameOf = (functionName: string): string => {
    const [, name] =
      Object.entries(physicalIds).find(([id]) => id.replace(/[0-9A-F]{8}$/, '') === functionName) ?? [];
    if (name === undefined) throw new Error(`There is no function ${functionName}`);
    return name;
  };
  return {
    /** @throws Error if the function fails */
    async invoke(functionName: string, payload: unknown): Promise<unknown> {
      const { FunctionError, Payload } = await lambda.send(
        new InvokeCommand({ FunctionName: nameOf(functionName), Payload: JSON.stringify(payload) }),
      );
      const text = Payload?.transformToString() ?? '';
      if (FunctionError !== undefined) throw new Error(`${functionName} failed: ${text}`);
      return text === '' ? null : (JSON.parse(text) as unknown);
    },
    close: () => lambda.destroy(),
  };
}
