import type { FunctionDefinition, ThreadDefinition } from '../function-definition.ts';

export interface GuardData extends ThreadDefinition {
  readonly runnerPorts: Uint8Array;
}

export type ThreadData = GuardData & FunctionDefinition;

export interface ServerThreadData extends GuardData {
  readonly entry: string;
}

/** After `out-of-memory`, the main thread ends this thread, as AWS ends the environment. */
export type GuardMessage = { readonly kind: 'violation' | 'out-of-memory'; readonly text: string };

export type MessageToThread =
  | { readonly kind: 'invoke'; readonly requestId: string; readonly payload: string }
  /** The main thread has handled this many more bytes of the response. */
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
