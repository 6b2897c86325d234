/** A function as its callers see it. */
export interface InvokableFunction {
  readonly logicalId: string;
  readonly functionName: string;
  readonly functionArn: string;
  /** Its versions and aliases. */
  readonly qualifiers: readonly string[];
  /** The access key by which the emulators identify the function's role; empty for a function of another stack. */
  readonly accessKeyId: string;
  readonly timeoutSeconds: number;
  /** Never rejects: errors are in the result. */
  invoke(payload: string, sink?: ResponseSink): Promise<InvocationResult>;
  /** Ends idle threads immediately. */
  endIdleThreads(): void;
}

/** Receives a streamed response while the function writes it. Without a sink, the streamed bytes become the payload. */
export interface ResponseSink {
  /** The sink calls `written` when the bytes have been forwarded. This limits how fast the function writes. */
  write(chunk: string | Uint8Array, written: () => void): void;
  /** Called when the response is complete. The function may still run. */
  end(): void;
}

/** Why Lambda throttled a call, as in its API. */
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
