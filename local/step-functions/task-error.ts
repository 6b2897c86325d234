/** A failed task. Retry and Catch match its name. Its message becomes the Cause. */
export class TaskError extends Error {
  /** Read by the emulator: States.ALL does not match an error that is neither retryable nor catchable. */
  readonly isRetryable: boolean;
  readonly isCatchable: boolean;

  constructor(name: string, cause: string, handling: { readonly isFinal: boolean } = { isFinal: false }) {
    super(cause);
    this.name = name;
    this.isRetryable = !handling.isFinal;
    this.isCatchable = !handling.isFinal;
  }
}
