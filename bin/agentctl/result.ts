/** The output of a command: the object for `--json`, and the lines for a person. */
export interface Result {
  json: unknown;
  lines: string[];
}

/** Wraps the work of a command: selects the target first, if the work needs one, and prints the result. */
export type Report = <Inputs extends unknown[]>(
  work: (...inputs: Inputs) => Promise<Result>,
) => (...inputs: Inputs) => Promise<void>;
