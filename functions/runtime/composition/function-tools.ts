import process from 'node:process';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { countUse, requestDepth } from './remote-use.ts';

/**
 * Import this module only dynamically, so that it does not slow down the start of functions. The credentials are a
 * parameter: what this module used of one that a function imports at its start would be loaded at the start too.
 */
export const functionTools = (credentials: Parameters<typeof functionInvoker>[0]): ToolKind =>
  functionKind({
    invoke: functionInvoker(credentials, process.env.AWS_ENDPOINT_URL_LAMBDA),
    depth: () => requestDepth() + 1,
    countUse,
  }) as ToolKind;
