import type { InvokableFunction } from './invokable-function.ts';

/** The ARN that IAM checks for a call by this name or ARN. It has a qualifier if the reference has one. */
export function invokedArn({ functionArn }: InvokableFunction, reference: string): string {
  const parts = reference.split(':');
  const [, qualifier] = parts[2] === 'lambda' ? parts.slice(6) : parts;
  return qualifier === undefined ? functionArn : `${functionArn}:${qualifier}`;
}
