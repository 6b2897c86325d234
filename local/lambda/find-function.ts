import type { RunContext } from '../run-context.ts';
import type { InvokableFunction } from './invokable-function.ts';

const LATEST = '$LATEST';

/**
 * The function of the template with this name or ARN. A qualifier must be a version or an alias of the template. All
 * versions and aliases of a function run the same code here.
 */
export function findFunction(
  { functions }: Pick<RunContext, 'functions'>,
  reference: string,
): InvokableFunction | undefined {
  const [name, qualifier = LATEST] = nameAndQualifier(reference);
  const found = [...functions.values()].find(({ functionName }) => functionName === name);
  return found && (qualifier === LATEST || found.qualifiers.includes(qualifier)) ? found : undefined;
}

function nameAndQualifier(reference: string): string[] {
  const parts = reference.split(':');
  return parts[2] === 'lambda' ? parts.slice(6) : parts;
}

/** The ARN that IAM checks for a call by this name or ARN. It has a qualifier if the reference has one. */
export function invokedArn({ functionArn }: InvokableFunction, reference: string): string {
  const [, qualifier] = nameAndQualifier(reference);
  return qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`;
}
