import type { InvocationResult, InvokableFunction, ThrottleReason } from './invokable-function.ts';

// What Lambda gives an account, and what of it stays with functions that have no reservation.
const DEFAULT_EXECUTIONS = 1000;
const UNRESERVED_AT_LEAST = 100;

export interface AccountConcurrency {
  /** Keeps a reservation for the function. Returns Lambda's rejection when it leaves too little to the others. */
  reserve(functionName: string, executions: number): string | undefined;
  /** The function, as often at once as account and reservation allow; beyond that Lambda throttles it. */
  limit<Limited extends InvokableFunction>(target: Limited): Limited;
}

/**
 * Lambda's own limits: how many executions an account may have at once. They know nothing of threads. A call that waits
 * here for a thread is an execution that AWS would have begun.
 */
export function createAccountConcurrency(executions = DEFAULT_EXECUTIONS): AccountConcurrency {
  const reserved = new Map<string, { readonly executions: number; running: number }>();
  const others = { executions, running: 0 };

  return {
    reserve(functionName, count) {
      others.executions -= count;
      reserved.set(functionName, { executions: count, running: 0 });
      return others.executions < UNRESERVED_AT_LEAST
        ? `Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution below its minimum value of [${UNRESERVED_AT_LEAST}].`
        : undefined;
    },
    limit(target) {
      const own = reserved.get(target.functionName);
      const share = own ?? others;
      const reason = own
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
