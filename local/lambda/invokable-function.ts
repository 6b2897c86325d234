export interface InvokableFunction {
  readonly logicalId: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly qualifiers: readonly string[];
  /** Of the function's role; empty for a function of another stack. */
  readonly accessKeyId: string;
  readonly timeoutSeconds: number;
  /** Must not reject: errors are in the result. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult>;
  endIdleThreads(): void;
}

/** Without a sink, the streamed bytes become the payload. */
export interface ResponseSink {
  /** Must call `written` when the bytes are forwarded or dropped: this limits how fast the function writes. */
  write(chunk: string | Uint8Array, written: () => void): void;
  /** The function may still run. */
  end(): void;
}

export type ThrottleReason =
  | 'ConcurrentInvocationLimitExceeded'
  | 'ReservedFunctionConcurrentInvocationLimitExceeded';

export type InvocationResult =
  | { readonly succeeded: true; readonly payload: string }
  | {
      readonly succeeded: false;
      readonly errorType: string;
      readonly errorMessage: string;
      /** Set if Lambda throttled the call: the function did not run. */
      readonly throttle?: ThrottleReason;
    };
