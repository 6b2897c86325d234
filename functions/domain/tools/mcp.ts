import type { RemoteRequest } from './remote-http.ts';

/** `timeout`: milliseconds for one call or one list, with its handshakes. */
export interface McpTarget
  extends Pick<RemoteRequest, 'workspaceId' | 'url' | 'headers' | 'auth' | 'timeout' | 'pool'> {
  /** A version of MCP. From `2026-07-28` on, the first try is without a handshake. */
  protocol: string;
}

export interface McpCall {
  tool: string;
  args: Record<string, unknown>;
  schema: Readonly<Record<string, unknown>>;
  /** By the name in `Mcp-Param-<name>`: the path of the argument that this header repeats, as names of properties. */
  parameterHeaders: Readonly<Record<string, readonly string[]>>;
}

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
  protocol: string;
  server: string | undefined;
  instructions: string | undefined;
  tools: McpTool[];
}

/**
 * The first `call` or `list` opens it. Errors are McpRejection for most JSON-RPC errors; OutboundFailure, such as for
 * an unknown tool, a status 500 or a timeout; Error if the secret cannot be used, such as one that is missing or not
 * for the host; the signal's reason. A tool's own failure is a result with `isError`.
 */
export interface McpConnection {
  call(call: McpCall, signal: AbortSignal): Promise<McpResult>;
  list(signal: AbortSignal): Promise<McpListing>;
  /** A failure to end the server's session is no error. */
  close(): Promise<void>;
}

export type OpenMcp = (target: McpTarget) => McpConnection;

/** Its text may be the server's. */
export class McpRejection extends Error {
  override readonly name = 'McpRejection';
}
