/** Encrypts the webhook secrets of clients. A secret encrypted for one batch cannot be decrypted for another. */
export interface SecretCipher {
  encrypt(secret: string, owner: SecretOwner): Promise<string>;
  decrypt(encrypted: string, owner: SecretOwner): Promise<string>;
}

export interface SecretOwner {
  workspaceId: string;
  batchId: string;
}
