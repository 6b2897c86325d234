/** A function as its callers see it. */
export interface InvokableFunction {
  readonly logicalId: string;
  readonly functionName: string;
  readonly functionArn: string;
  /** Its versions and aliases. */
  readonly qualifiers: readonly string[];
  /** By which the engines know its role. */
  readonly accessKeyId: string;
  readonly timeoutSeconds: number;
  /** Resolves in every case; what went wrong is in the result. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult>;
}

/** Where a streamed response goes as it is written. Without a sink, what a function streams is its payload. */
export interface ResponseSink {
  /** `written` is called when the next link has taken the bytes: it paces the function. */
  write(chunk: string | Uint8Array, written: () => void): void;
  /** The response is complete; the function may still be at work. */
  end(): void;
}

/** Why Lambda did not run a function, in the words of its API. */
export type ThrottleReason =
  | 'ConcurrentInvocationLimitExceeded'
  | 'ReservedFunctionConcurrentInvocationLimitExceeded';

export type InvocationResult =
  | { readonly succeeded: true; readonly payload: string }
  | {
      readonly succeeded: false;
      readonly errorType: string;
      readonly errorMessage: string;
      /** The function did not run. */
      readonly throttle?: ThrottleReason;
    };
