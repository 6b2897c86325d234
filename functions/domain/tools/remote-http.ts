import type { ToolAuth } from '#contract/tools.ts';

/** A request of a tool to the address in its entry. */
export interface RemoteRequest {
  workspaceId: string;
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array | undefined;
  auth: ToolAuth | undefined;
  /** Milliseconds for the whole request. */
  timeout: number;
  /** Of the decompressed body. */
  maxBytes: number;
  /** The connections of the reply. */
  pool: RemotePool;
  signal: AbortSignal;
}

export interface RemoteHead {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Removes the secrets of the request from what the server has sent. Call it before anything else sees that. */
  redact<Value>(value: Value): Value;
}

/** Connections, which one reply shares. */
export interface RemotePool {
  close(): void;
}

export interface RemoteHttp {
  openPool(): RemotePool;
  /**
   * Sends a request with its credential. A 401 is repeated once with a new credential.
   * @param read gets the body as it comes; the connection is closed unless all of it was read
   * @throws OutboundFailure for a redirect, a failed connection, a timeout, a large body, or any error of `read`; Error if a
   *   secret is missing or not for the host; the signal's reason
   */
  send<Body>(
    request: RemoteRequest,
    read: (head: RemoteHead, chunks: AsyncIterable<Uint8Array>) => Promise<Body>,
  ): Promise<Body>;
}
