import process from 'node:process';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { countUse, requestDepth } from './remote-use.ts';

/**
 * Import this module only dynamically, so that it does not slow down the start of functions. The credentials are a
 * parameter, because a module that this one shares with the start of functions may make that start slower.
 */
export const functionTools = (credentials: Parameters<typeof functionInvoker>[0]): ToolKind =>
  functionKind({
    invoke: functionInvoker(credentials, process.env.AWS_ENDPOINT_URL_LAMBDA),
    depth: () => requestDepth() + 1,
    countUse,
  }) as ToolKind;
