import type { EmulatorRoute } from '../../dynamodb/emulator-route/emulator-route.ts';

/** The worker data of a function's thread. */
export interface ThreadData {
  readonly taskRoot: string;
  readonly handler: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly memoryMegabytes: number;
  readonly timeoutMilliseconds: number;
  /** Whether a listener receives what the function writes to stdout. */
  readonly hasLogListener: boolean;
  readonly emulatorRoute: EmulatorRoute | undefined;
  /** For `rejectRunnerPorts`. */
  readonly runnerPorts: Uint8Array;
}

/** The worker data of a web function's thread. */
export interface ServerThreadData {
  /** The module that starts the server. */
  readonly entry: string;
  /** Whether a listener receives what the function writes to stdout. */
  readonly hasLogListener: boolean;
  readonly emulatorRoute: EmulatorRoute | undefined;
  readonly runnerPorts: Uint8Array;
}

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
  | { readonly kind: 'violation'; readonly text: string }
  | { readonly kind: 'out-of-memory'; readonly usedMegabytes: number };

export interface ErrorReport {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}
