import type { ToolAuth } from '#contract/tools.ts';

/** A request of a tool to the address in its entry. */
export interface RemoteRequest {
  workspaceId: string;
  url: URL;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers: Readonly<Record<string, string>>;
  body?: Uint8Array | undefined;
  auth: ToolAuth | undefined;
  /** Milliseconds for each attempt, from the address check to the end of the body. */
  timeout: number;
  /** The maximum size of the decompressed body. */
  maxBytes: number;
  /** The connections that the request may use again. */
  pool: RemotePool;
  signal: AbortSignal;
}

export interface RemoteHead {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Removes the secrets of the request from JSON that the server has sent. Call it before anything else sees that. */
  redact<Value>(value: Value): Value;
}

/** Open connections that the requests of one reply or one command share. */
export interface RemotePool {
  close(): void;
}

export interface RemoteHttp {
  openPool(): RemotePool;
  /**
   * Sends a request with its credential. If there is `auth`, a request that gets a 401 is repeated once, with the
   * credential read anew.
   * @param read gets the body as it comes. The connection is closed if nothing was read, or if the reader leaves the
   *   body before its end
   * @throws OutboundFailure, such as for a redirect, a failed connection, a timeout, a large body, a credential that
   *   cannot be got, or any error of `read`; Error if a secret is missing or not for the host; the signal's reason
   */
  send<Body>(request: RemoteRequest, read: ReadRemote<Body>): Promise<Body>;
}

export type ReadRemote<Body> = (head: RemoteHead, chunks: AsyncIterable<Uint8Array>) => Promise<Body>;
