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
