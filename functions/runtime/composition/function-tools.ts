import process from 'node:process';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { countUse, requestDepth } from './remote-use.ts';

/**
 * Makes the kind of tools that call Lambda functions. Import this module only dynamically, because few agents have such
 * tools. It gets the credentials as a parameter: a module that it shared with the start of functions would make that start
 * larger.
 */
export const functionTools = (credentials: Parameters<typeof functionInvoker>[0]): ToolKind =>
  functionKind({
    invoke: functionInvoker(credentials, process.env.AWS_ENDPOINT_URL_LAMBDA),
    depth: () => requestDepth() + 1,
    countUse,
  }) as ToolKind;
