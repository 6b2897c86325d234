/** One element a port, 1 where this process or one of its engines listens: shared with the threads of functions. */
export const ownPorts = new Uint8Array(new SharedArrayBuffer(65_536));

export function claimPort(port: number): void {
  ownPorts[port] = 1;
}

/** For whoever no longer listens there. */
export function releasePort(port: number): void {
  ownPorts[port] = 0;
}

export const portOf = (endpoint: string): number => Number(new URL(endpoint).port);
