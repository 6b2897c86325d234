/**
 * One element per port: 1 if this process or one of its emulators listens there. Functions' threads share the array.
 */
export const runnerPorts = new Uint8Array(new SharedArrayBuffer(65_536));

export function claimPort(port: number): void {
  runnerPorts[port] = 1;
}

export function releasePort(port: number): void {
  runnerPorts[port] = 0;
}

export const portOf = (endpoint: string): number => Number(new URL(endpoint).port);
