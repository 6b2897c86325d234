/** An external user of a workspace. */
export interface Person {
  workspaceId: string;
  externalUserId: string;
}
