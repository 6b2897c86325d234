import { outboundRules } from '#adapters/outbound/addresses.ts';
import { clientTokens, remoteHttp } from '#adapters/outbound/remote-http.ts';
import type { ToolKind } from '#agents/tools/agent-tool.ts';
import { httpApi } from '#agents/tools/kinds/http-api.ts';
import { mcpKind } from '#agents/tools/kinds/mcp.ts';
import type { CheckTarget } from '#agents/tools/remote/pinned-tool.ts';
import { OutboundFailure, type OutboundFailureKind } from '#domain/platform/failures.ts';
import {
  type McpConnection,
  McpRejection,
  type OpenMcp,
  type RemoteHttp,
} from '#domain/tools/remote-tools.ts';
import {
  credentialOf,
  SecretValues,
  type ToolSecretCipher,
  type ToolSecretStore,
} from '#domain/tools/tool-secret.ts';
import { deferred, environment, internalEndpoints } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { countUse, requestDepth } from './remote-use.ts';

/** Import this module only dynamically, so that it does not slow down the start of functions. */

export const toolSecretCipher: ToolSecretCipher = deferred(
  async () => (await import('./tool-secret-cipher.ts')).toolSecretCipher,
);

let kinds: ReturnType<typeof makeKinds> | undefined;

/** One of each kind for the process, because they cache secrets, tokens and addresses. */
export const remoteKinds = (toolSecrets: () => ToolSecretStore) => (kinds ??= makeKinds(toolSecrets()));

function makeKinds(toolSecrets: ToolSecretStore) {
  const services = remoteServices(toolSecrets);
  return {
    consultant_call_mcp_tool: mcpKind({ ...services, openMcp: openMcpWith(services.http) }) as ToolKind,
    consultant_call_http_api: httpApi(services) as ToolKind,
  };
}

/** The MCP client is loaded at the first use: an agent may have tools that its replies do not use. */
export const openMcpWith =
  (http: RemoteHttp): OpenMcp =>
  (target) => {
    let opened: Promise<McpConnection> | undefined;
    const open = () =>
      (opened ??= import('#adapters/mcp/mcp-client.ts').then(({ openMcp }) => openMcp(http, target)));
    return {
      call: async (...call) => (await open()).call(...call).catch(ownError),
      list: async (signal) => (await open()).list(signal).catch(ownError),
      close: async () => (await opened)?.close(),
    };
  };

/** For `instanceof`: the MCP client is a separate file of the bundles, with its own copies of the classes. */
function ownError(error: Error & { kind?: OutboundFailureKind }): never {
  if (error.name === 'OutboundFailure' && error.kind !== undefined)
    throw new OutboundFailure(error.kind, error.message, { cause: error });
  throw error.name === 'McpRejection' ? new McpRejection(error.message, { cause: error }) : error;
}

/** @param allow addresses that may be called although they are not public, and may get a secret without TLS */
export function remoteServices(toolSecrets: ToolSecretStore, allow = environment('toolAllow')) {
  const values = new SecretValues({ toolSecrets, toolSecretCipher, clock });
  const rules = outboundRules(allow, internalEndpoints(), clock);
  const tokens = clientTokens({ rules, clock });
  return {
    checkTarget: async (...target: Parameters<CheckTarget>) =>
      (await import('#agents/tools/remote/pinned-tool.ts')).checkTargetWith(toolSecrets, allow)(...target),
    http: remoteHttp({
      rules,
      credentialOf: (auth, target) => credentialOf(values, auth, target, tokens),
      depth: requestDepth,
    }),
    countUse,
  };
}
