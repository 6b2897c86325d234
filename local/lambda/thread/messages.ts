import type { EmulatorRoute } from '../../dynamodb/emulator-route.ts';

/** What a thread is told when it is made. */
export interface ThreadData {
  readonly taskRoot: string;
  readonly handler: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly memoryMegabytes: number;
  readonly timeoutMilliseconds: number;
  /** Whether somebody reads what the function writes to stdout. */
  readonly hasLogListener: boolean;
  readonly emulatorRoute: EmulatorRoute | undefined;
  /** As `rejectOwnPorts` takes them. */
  readonly ownPorts: Uint8Array;
}

/** What a web function's thread is told. */
export interface ServerThreadData {
  /** The module that starts the server. */
  readonly entry: string;
  readonly ownPorts: Uint8Array;
}

export type MessageToThread =
  | { readonly kind: 'invoke'; readonly requestId: string; readonly payload: string }
  /** So many bytes of the streamed response have left: the function may write on. */
  | { readonly kind: 'written'; readonly bytes: number };

export type MessageFromThread =
  | { readonly kind: 'loaded' }
  | { readonly kind: 'load-failed'; readonly error: ErrorReport }
  | { readonly kind: 'chunk'; readonly chunk: string | Uint8Array<ArrayBuffer>; readonly bytes: number }
  | { readonly kind: 'end' }
  /** `payload` is missing when the function streamed. */
  | { readonly kind: 'done'; readonly payload?: string }
  | { readonly kind: 'failed'; readonly error: ErrorReport }
  | { readonly kind: 'violation'; readonly text: string }
  | { readonly kind: 'out-of-memory'; readonly usedMegabytes: number };

export interface ErrorReport {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}
