import type { RunContext } from '../run-context.ts';
import type { InvokableFunction } from './invokable-function.ts';

const LATEST = '$LATEST';

/** Undefined if there is no such function or qualifier. All qualifiers of a template's function run the same code. */
export function findFunction(
  { functions }: Pick<RunContext, 'functions'>,
  reference: string,
): InvokableFunction | undefined {
  const [name, qualifier = LATEST] = nameAndQualifier(reference);
  const arn = reference.startsWith('arn:') ? reference.split(':').slice(0, 7).join(':') : undefined;
  return [...functions.values()].find(
    ({ functionArn, functionName, qualifiers }) =>
      (arn === undefined ? functionName === name : functionArn === arn) &&
      (qualifier === LATEST || qualifiers.includes(qualifier)),
  );
}

function nameAndQualifier(reference: string): string[] {
  const parts = reference.split(':');
  return parts[2] === 'lambda' ? parts.slice(6) : parts;
}

export function invokedArn({ functionArn }: InvokableFunction, reference: string): string {
  const [, qualifier] = nameAndQualifier(reference);
  return qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`;
}
