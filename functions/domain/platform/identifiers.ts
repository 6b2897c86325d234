/** Random identifiers. */
export interface Identifiers {
  uuid(): string;
  workspaceId(): string;
  /** `ak_` and 32 random bytes in base 62. */
  apiKey(): string;
  apiKeyId(): string;
}
