import type { RunContext } from '../run-context.ts';
import type { InvokableFunction } from './invokable-function.ts';

const LATEST = '$LATEST';

/**
 * The function of the template that a name or an ARN stands for. A qualifier behind it must be a version or an alias
 * that the template has: all of them are the one code of the assembly here.
 */
export function findFunction(
  { functions }: Pick<RunContext, 'functions'>,
  reference: string,
): InvokableFunction | undefined {
  const parts = reference.split(':');
  const [wanted, qualifier = LATEST] = parts[2] === 'lambda' ? parts.slice(6) : parts;
  const found = [...functions.values()].find(({ functionName }) => functionName === wanted);
  return found && (qualifier === LATEST || found.qualifiers.includes(qualifier)) ? found : undefined;
}
