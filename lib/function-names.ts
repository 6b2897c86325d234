import type { RouteName } from '#contract/routes.ts';

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

export type FunctionName = RouteName | TaskName;

export const camelCase = (name: string): string =>
  name.replaceAll(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());

export const pascalCase = (name: string): string => camelCase(`-${name}`);
