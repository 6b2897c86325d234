import process from 'node:process';
import { functionInvoker } from '#adapters/outbound/function-invoker.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { functionKind } from '#agents/tools/kinds/function.ts';
import { countUse, requestDepth } from './remote-use.ts';

type Credentials = Parameters<typeof functionInvoker>[0]['credentials'];

/**
 * Import this module only dynamically: few agents have tools of functions. What it shares with the start of functions makes
 * that start larger, so it gets the credentials in place of importing them.
 */
export const functionTools = (credentials: Credentials): ToolKind =>
  functionKind({
    invoke: functionInvoker({ credentials, endpoint: process.env.AWS_ENDPOINT_URL_LAMBDA }),
    depth: () => requestDepth() + 1,
    countUse,
  }) as ToolKind;
