import type { RemoteRequest } from './remote-http.ts';

/** How one reply or one command calls an MCP server. `timeout` is for one call or one list, with its handshakes. */
export interface McpTarget
  extends Pick<RemoteRequest, 'workspaceId' | 'url' | 'headers' | 'auth' | 'timeout' | 'pool'> {
  /**
   * A version of MCP. It decides what is tried first: no handshake from `2026-07-28` on, or one for an earlier version.
   */
  protocol: string;
}

export interface McpCall {
  /** The name of the tool at the server. */
  tool: string;
  args: Record<string, unknown>;
  schema: Readonly<Record<string, unknown>>;
  /** Headers that repeat arguments. Each has the path of its argument: names of properties, from the outermost. */
  parameterHeaders: Readonly<Record<string, readonly string[]>>;
}

/** A result as the server has sent it, without secrets. */
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
  /** The version of MCP that was used with the server. */
  protocol: string;
  server: string | undefined;
  instructions: string | undefined;
  tools: McpTool[];
}

/**
 * A connection, which the first call opens. Its errors are OutboundFailure for a failure of the server, McpRejection
 * for most errors that it returns in place of a result, Error if the secret is missing or not for the host, and the
 * signal's reason. A tool's own failure is no error, but a result with `isError`.
 */
export interface McpConnection {
  call(call: McpCall, signal: AbortSignal): Promise<McpResult>;
  list(signal: AbortSignal): Promise<McpListing>;
  /** Ends the server's session, if there is one. The server has a second for it, and a failure is no error. */
  close(): Promise<void>;
}

export type OpenMcp = (target: McpTarget) => McpConnection;

/** An error that a server returns. Others have written its text. */
export class McpRejection extends Error {
  override readonly name = 'McpRejection';
}
