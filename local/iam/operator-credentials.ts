/** What whoever operates a run signs with: it may do everything. */
export const operatorCredentials = { accessKeyId: 'local', secretAccessKey: 'local' } as const;
