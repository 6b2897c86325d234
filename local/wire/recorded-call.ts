/** One request that a function made of a service, or a step that AWS counts: an invocation, a state transition. */
export interface RecordedCall {
  /** As in the variable of its endpoint, in lower case: `s3`, `sqs`, `sfn` …; `lambda` also for invocations. */
  readonly service: string;
  /** `SendMessageBatch`; of S3 the method with what it is about, `PUT object`, `PUT object?tagging`; `invocation`; `transition`. */
  readonly operation: string;
  /** The function that called or was invoked, or the state that was entered. */
  readonly name: string | undefined;
  readonly status: number;
  /** Of the bodies. */
  readonly bytes: { readonly sent: number; readonly received: number };
  readonly milliseconds: number;
}
