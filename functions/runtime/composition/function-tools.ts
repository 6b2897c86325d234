import process from 'node:process';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { defaultProvider } from '#runtime/environment/lambda-credentials.ts';
import { countUse, requestDepth } from './remote-use.ts';

/**
 * The kind of tools that call Lambda functions. Import this module only dynamically, because few agents have such
 * tools.
 */
export const functionTools = functionKind({
  invoke: functionInvoker({
    credentials: defaultProvider(),
    endpoint: process.env.AWS_ENDPOINT_URL_LAMBDA,
  }),
  depth: () => requestDepth() + 1,
  countUse,
}) as ToolKind;
