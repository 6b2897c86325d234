import type { ToolAuth } from '#contract/tools.ts';

export interface RemoteRequest {
  workspaceId: string;
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array | undefined;
  auth: ToolAuth | undefined;
  /** Milliseconds for each attempt. */
  timeout: number;
  /** Of the decompressed body. */
  maxBytes: number;
  pool: RemotePool;
  signal: AbortSignal;
}

export interface RemoteHead {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Removes the secrets of the request. Call it before anything else sees what the server has sent. */
  redact<Value>(value: Value): Value;
}

export interface RemotePool {
  close(): void;
}

export interface RemoteHttp {
  openPool(): RemotePool;
  /**
   * With `auth`, a request that gets a 401 is repeated once, with the credential read anew.
   * @throws OutboundFailure, also for any error of `read`; Error if a secret is missing or not for the host; the
   * signal's reason
   */
  send<Body>(request: RemoteRequest, read: ReadRemote<Body>): Promise<Body>;
}

export type ReadRemote<Body> = (head: RemoteHead, chunks: AsyncIterable<Uint8Array>) => Promise<Body>;

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
 * The first `call` or `list` opens it. Errors are McpRejection for most JSON-RPC errors; OutboundFailure, such as for an
 * error that names an unknown tool, a status 500 or a timeout; Error if the secret cannot be used, such as one that is
 * missing or not for the host; the signal's reason. A tool's own failure is a result with `isError`.
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

/**
 * Must not repeat a call: the function may have acted already.
 * @param call.timeout in milliseconds
 * @returns `payload`: the text of the result, which may be no JSON, or of the error if `hasFailed`
 * @throws OutboundFailure, such as for a busy function or a timeout; Error for other errors of Lambda; the signal's
 * reason. None of their texts has the ARN
 */
export type InvokeFunction = (call: {
  arn: string;
  payload: string;
  timeout: number;
  signal: AbortSignal;
}) => Promise<{ payload: string; hasFailed: boolean }>;
