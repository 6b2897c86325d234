import type { InvokableFunction } from './invokable-function.ts';

/** What IAM checks when a function is called by this name or ARN: with the version or alias, if it names one. */
export function invokedArn({ functionArn }: InvokableFunction, reference: string): string {
  const parts = reference.split(':');
  const [, qualifier] = parts[2] === 'lambda' ? parts.slice(6) : parts;
  return qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`;
}
