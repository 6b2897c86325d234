import type { RouteName } from '#contract/routes.ts';

export type BatchFunctionName =
  | 'process-batch-items'
  | 'dispatch-batch'
  | 'advance-batch'
  | 'fail-batch'
  | 'deliver-webhook'
  | 'reconcile-batches';

/** A function's name is that of its source file. */
export type FunctionName =
  | RouteName
  | BatchFunctionName
  | 'authorize-request'
  | 'delete-unused-chats'
  | 'prepare-attachment'
  | 'purge-chat'
  | 'test-agent';

/** The id of a function's construct. */
export const pascalCase = (name: string): string =>
  name.replaceAll(/(?:^|-)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
