/** A function's call to a service, or something else that AWS bills: an invocation or a state transition. */
export interface RecordedCall {
  /** As in the variable AWS_ENDPOINT_URL_*, in lower case: `s3`, `sqs`, `sfn` …; `lambda` also for invocations. */
  readonly service: string;
  /** Such as `SendMessageBatch`, `invocation` or `transition`; for S3 method and resource: `PUT object?tagging`. */
  readonly operation: string;
  /** The function that called or was invoked, or the state that was entered. */
  readonly name: string | undefined;
  readonly status: number;
  /** Sizes of the bodies. */
  readonly bytes: { readonly sent: number; readonly received: number };
  readonly milliseconds: number;
}
