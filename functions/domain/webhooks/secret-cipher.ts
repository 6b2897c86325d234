/** Encrypts addresses and secrets of clients' webhooks. A text encrypted for one batch cannot be decrypted for another. */
export interface SecretCipher {
  encrypt(text: string, owner: SecretOwner): Promise<string>;
  decrypt(encrypted: string, owner: SecretOwner): Promise<string>;
}

export interface SecretOwner {
  workspaceId: string;
  batchId: string;
}
