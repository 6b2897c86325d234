/** A failed task; its name is what Retry and Catch match, its message becomes the Cause. */
export class TaskError extends Error {
  /** Read by the engine: States.ALL does not match an error that is neither. */
  readonly isRetryable: boolean;
  readonly isCatchable: boolean;

  constructor(name: string, cause: string, handling: { readonly isFinal: boolean } = { isFinal: false }) {
    super(cause);
    this.name = name;
    this.isRetryable = !handling.isFinal;
    this.isCatchable = !handling.isFinal;
  }
}
