import type { RouteName } from '#contract/routes.ts';

/** The names of functions without a route. */
export type TaskName =
  | 'authorize-request'
  | 'prepare-attachment'
  | 'purge-chat'
  | 'delete-unused-chats'
  | 'test-agent'
  | 'process-batch-items'
  | 'dispatch-batch'
  | 'advance-batch'
  | 'fail-batch'
  | 'deliver-webhook'
  | 'reconcile-batches';

/** A function's name is that of its source file. */
export type FunctionName = RouteName | TaskName;

/** Converts `create-chat` to `createChat`. */
export const camelCase = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());

/** Returns the id of a function's construct, such as `CreateChat` for `create-chat`. */
export const pascalCase = (name: string): string => camelCase(`-${name}`);
