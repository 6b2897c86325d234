import type { RunContext } from '../run-context.ts';
import type { InvokableFunction } from './invokable-function.ts';

/** The function of the template that a name or an ARN, with or without a qualifier, stands for. */
export function findFunction(
  { functions }: Pick<RunContext, 'functions'>,
  reference: string,
): InvokableFunction | undefined {
  const [, , service, , , , name] = reference.split(':');
  const wanted = service === 'lambda' ? name : reference.split(':')[0];
  return [...functions.values()].find(({ functionName }) => functionName === wanted);
}
