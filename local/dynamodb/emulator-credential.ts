/** Replaces the access key, because some emulators have a separate database for each key. None checks signatures. */
export const withEmulatorCredential = (authorization: string): string =>
  authorization.replace(/Credential=[^/]+/, 'Credential=local');
