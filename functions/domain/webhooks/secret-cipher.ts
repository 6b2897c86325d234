/** Encrypts what clients entrust to a batch. What was sealed for one batch cannot be opened for another. */
export interface SecretCipher {
  encrypt(secret: string, owner: SecretOwner): Promise<string>;
  open(encrypted: string, owner: SecretOwner): Promise<string>;
}

export interface SecretOwner {
  workspaceId: string;
  batchId: string;
}
