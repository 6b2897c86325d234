import type { InvocationResult, InvokableFunction, ThrottleReason } from './invokable-function.ts';

// Lambda's default quota of concurrent executions in an account, and the minimum that must stay unreserved.
const DEFAULT_EXECUTIONS = 1000;
const UNRESERVED_AT_LEAST = 100;

/** A call that waits for a thread of the runner counts as an execution, because AWS would have started it. */
export function createAccountConcurrency(executions = DEFAULT_EXECUTIONS) {
  const reserved = new Map<string, { readonly executions: number; running: number }>();
  const unreserved = { executions, running: 0 };

  return {
    /** Returns Lambda's error message if too few stay unreserved. */
    reserve(functionName: string, count: number): string | undefined {
      unreserved.executions -= count;
      reserved.set(functionName, { executions: count, running: 0 });
      return unreserved.executions < UNRESERVED_AT_LEAST
        ? `Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [${UNRESERVED_AT_LEAST}].`
        : undefined;
    },
    limit<Limited extends InvokableFunction>(target: Limited): Limited {
      const reservation = reserved.get(target.functionName);
      const share = reservation ?? unreserved;
      const reason = reservation
        ? 'ReservedFunctionConcurrentInvocationLimitExceeded'
        : 'ConcurrentInvocationLimitExceeded';
      return {
        ...target,
        async invoke(payload, sink) {
          if (share.running >= share.executions) return throttled(reason);
          share.running += 1;
          try {
            return await target.invoke(payload, sink);
          } finally {
            share.running -= 1;
          }
        },
      };
    },
  };
}

const throttled = (throttle: ThrottleReason): InvocationResult => ({
  succeeded: false,
  errorType: 'TooManyRequestsException',
  errorMessage: 'Rate Exceeded.',
  throttle,
});
