/** Replaces the access key, because some emulators have a database for each key. No emulator checks signatures. */
export const withEmulatorCredential = (authorization: string): string =>
  authorization.replace(/Credential=[^/]+/, 'Credential=local');
