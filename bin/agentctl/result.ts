/** What a command has to say: the object of `--json`, and the lines that a person reads. */
export interface Result {
  json: unknown;
  lines: string[];
}

/** Wraps a command's work: it is pointed at its target, and its result printed once. */
export type Report = <Inputs extends unknown[]>(
  work: (...inputs: Inputs) => Promise<Result>,
) => (...inputs: Inputs) => Promise<void>;
