import type { ToolAuth } from '#contract/tools.ts';
import type { HostAndPort } from '#contract/urls.ts';
import { hostOf, maySendSecret, type ToolSecretStore } from '#domain/tools/tool-secret.ts';

/**
 * Checks the secret of an entry. Returns what is wrong, such as `auth.secret names no secret …`; undefined if nothing
 * is.
 * @param allow addresses that may get a secret without TLS
 */
export const checkTargetWith =
  (toolSecrets: ToolSecretStore, allow: readonly HostAndPort[]) =>
  async (workspaceId: string, url: URL, auth: ToolAuth | undefined): Promise<string | undefined> => {
    if (auth === undefined) return undefined;
    if (!maySendSecret(url, allow)) return 'url must be https, because the entry has a secret';
    const tokenUrl = 'token_url' in auth ? new URL(auth.token_url) : url;
    if (!maySendSecret(tokenUrl, allow)) return 'auth.token_url must be https';
    const secret = await toolSecrets.get(workspaceId, auth.secret);
    if (secret === undefined)
      return `auth.secret names no secret of the workspace: ${auth.secret}. Set it with agentctl secrets set`;
    const host = [url, tokenUrl].map(hostOf).find((each) => !secret.hosts.includes(each));
    return host === undefined
      ? undefined
      : `auth.secret is ${auth.secret}, which is not for the host ${host}: it is for ${secret.hosts.join(', ')}`;
  };

export type CheckTarget = ReturnType<typeof checkTargetWith>;
