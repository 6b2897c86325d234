/** Some engines keep a database for each key. None looks at signatures. */
export const forEmulator = (authorization: string): string =>
  authorization.replace(/Credential=[^/]+/, 'Credential=local');
