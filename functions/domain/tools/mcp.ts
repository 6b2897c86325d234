import type { ToolAuth } from '#contract/tools.ts';
import type { RemotePool } from './remote-http.ts';

/** An MCP server, as one reply or one command calls it. */
export interface McpTarget {
  workspaceId: string;
  url: URL;
  /** What is tried first: `2026-07-28`, or an earlier version with its handshake. */
  protocol: string;
  headers: Readonly<Record<string, string>>;
  auth: ToolAuth | undefined;
  /** Milliseconds of one call, handshakes included. */
  timeout: number;
  pool: RemotePool;
}

export interface McpCall {
  /** The name at the server. */
  tool: string;
  args: Record<string, unknown>;
  schema: Readonly<Record<string, unknown>>;
  /** Headers that repeat arguments, each with the path of its argument. */
  parameterHeaders: Readonly<Record<string, readonly string[]>>;
}

/** As the server has sent it, without secrets. */
export interface McpResult {
  content: readonly Record<string, unknown>[];
  structuredContent?: unknown;
  isError?: boolean | undefined;
}

export interface McpTool {
  name: string;
  description?: string | undefined;
  inputSchema: Record<string, unknown>;
  annotations?: { readOnlyHint?: boolean | undefined } | undefined;
}

export interface McpListing {
  /** The version that the server speaks. */
  protocol: string;
  server: string | undefined;
  instructions: string | undefined;
  tools: McpTool[];
}

/**
 * A connection. Its errors are OutboundFailure for a failure of the server, and McpRejection for an error that it returns
 * in place of a result.
 */
export interface McpConnection {
  call(call: McpCall, signal: AbortSignal): Promise<McpResult>;
  list(signal: AbortSignal): Promise<McpListing>;
  /** Ends the server's session, within a second. */
  close(): Promise<void>;
}

export type OpenMcp = (target: McpTarget) => McpConnection;

/** The server's own error, whose text others have written. */
export class McpRejection extends Error {
  override readonly name = 'McpRejection';
}
