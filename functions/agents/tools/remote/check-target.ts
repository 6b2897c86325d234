import type { ToolAuth } from '#contract/tools.ts';
import type { HostAndPort } from '#contract/urls.ts';
import { hostOf, maySendSecret, type ToolSecretStore } from '#domain/tools/tool-secret.ts';

/** @returns what is wrong with the address of an entry and its secret, such as `auth.secret names no secret …` */
export type CheckTarget = (
  workspaceId: string,
  url: URL,
  auth: ToolAuth | undefined,
) => Promise<string | undefined>;

/** @param allow the stage's setting toolAllow */
export const checkTargetWith =
  (toolSecrets: ToolSecretStore, allow: readonly HostAndPort[]): CheckTarget =>
  async (workspaceId, url, auth) => {
    if (auth === undefined) return undefined;
    const host = hostOf(url);
    if (!maySendSecret(url, allow)) return 'url must be https, because the entry has a secret';
    const secret = await toolSecrets.get(workspaceId, auth.secret);
    if (secret === undefined)
      return `auth.secret names no secret of the workspace: ${auth.secret}. Set it with agentctl secrets set`;
    return secret.hosts.includes(host)
      ? undefined
      : `auth.secret is ${auth.secret}, which is not for the host ${host}: it is for ${secret.hosts.join(', ')}`;
  };
