import type { FunctionDefinition, ThreadDefinition } from '../function-definition.ts';

/** The worker data that `guardThread` needs. */
export interface GuardData extends ThreadDefinition {
  /** One element per port: 1 if the run listens there. For `rejectRunnerPorts`. */
  readonly runnerPorts: Uint8Array;
}

/** The worker data of a function's thread. */
export type ThreadData = GuardData & FunctionDefinition;

/** The worker data of a web function's thread. */
export interface ServerThreadData extends GuardData {
  /** The module that starts the server. */
  readonly entry: string;
}

/** What could fail in AWS. After `out-of-memory`, AWS ends the environment. */
export type GuardMessage = { readonly kind: 'violation' | 'out-of-memory'; readonly text: string };

export type MessageToThread =
  | { readonly kind: 'invoke'; readonly requestId: string; readonly payload: string }
  /** The main thread has forwarded this many bytes of the streamed response: the function may write more. */
  | { readonly kind: 'written'; readonly bytes: number };

export type MessageFromThread =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'load-failed'; readonly error: ErrorReport }
  | { readonly kind: 'chunk'; readonly chunk: string | Uint8Array<ArrayBuffer>; readonly bytes: number }
  | { readonly kind: 'end' }
  /** Without `payload` if the function streamed its response. */
  | { readonly kind: 'done'; readonly payload?: string }
  | { readonly kind: 'failed'; readonly error: ErrorReport }
  | GuardMessage;

export interface ErrorReport {
  readonly errorType: string;
  readonly errorMessage: string;
}
