import { type HttpApiConfig, httpApiConfig } from '#contract/http-api.ts';
import type { ToolKind } from '../agent-tool.ts';
import { requestOf, resultOf } from '../remote/http-call.ts';
import { fillIn, pinnedOffers, type RemoteServices } from '../remote/pinned-tool.ts';

const type = 'consultant_call_http_api';

const responseBytes = 1_000_000;

export const httpApi = ({ http, countUse, checkTarget }: RemoteServices): ToolKind<HttpApiConfig> => ({
  type,
  config: httpApiConfig,
  checkConfig: async ({ base_url, auth }, workspaceId) =>
    (await checkTarget(workspaceId, new URL(base_url), auth))?.replace(/^url/, 'base_url'),
  offers: (entry) =>
    pinnedOffers(entry, countUse(type, new URL(entry.base_url)), async (tool, args, use) => {
      const request = {
        ...requestOf(entry, tool, args, (text, encode) => fillIn(text, use, encode)),
        workspaceId: use.agents[0].workspaceId,
        auth: entry.auth,
        timeout: entry.timeout_seconds * 1000,
        maxBytes: responseBytes,
        pool: use.scope.get(http, () => http.openPool()),
        signal: use.signal,
      };
      const { head, body } = await http.send(request, async (head, chunks) => ({
        head,
        body: Buffer.concat(await Array.fromAsync(chunks)),
      }));
      return resultOf(head, body, tool.pick);
    }),
});
