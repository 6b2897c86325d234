import { KMSClient } from '@aws-sdk/client-kms';
import type { Table } from '#adapters/dynamo/table/table.ts';
import type { Audit } from '#adapters/dynamo/workspaces/api-key-store.ts';
import { dynamoToolSecretStore } from '#adapters/dynamo/workspaces/tool-secret-store.ts';
import { clientTokens } from '#adapters/outbound/client-tokens.ts';
import { remoteHttp } from '#adapters/outbound/remote-http.ts';
import { kmsSecretCipher } from '#adapters/secrets.ts';
import { type ClientTokens, credentialOf } from '#domain/tools/credential.ts';
import {
  type SecretOwner,
  SecretValues,
  type ToolSecretCipher,
  type ToolSecretStore,
} from '#domain/tools/tool-secret.ts';
import { clientTimeouts, environment, lazily } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { outboundRules } from './outbound-rules.ts';
import { countUse, requestDepth } from './remote-use.ts';

/**
 * What remote tools of agents need. Import this module only dynamically, for an agent with an entry of such tools: in the
 * functions' bundles it is a separate chunk, which does not slow down their start.
 */

export const makeToolSecrets = (table: Table, audit: Audit): ToolSecretStore =>
  dynamoToolSecretStore(table, audit);

export const toolSecretCipher = lazily(
  (): ToolSecretCipher =>
    kmsSecretCipher<SecretOwner>(
      new KMSClient({ requestHandler: clientTimeouts }),
      environment('toolSecretKey'),
      ({ workspaceId, name, hosts }) => ({ workspace: workspaceId, secret: name, hosts: hosts.join(' ') }),
    ),
);

let secretValues: SecretValues | undefined;
let tokens: ClientTokens | undefined;

/** What the kinds of remote tools share. */
export function remoteServices(toolSecrets: () => ToolSecretStore) {
  const rules = outboundRules(environment('toolAllow'));
  // One cache of each for the process.
  secretValues ??= new SecretValues({
    toolSecrets: toolSecrets(),
    toolSecretCipher: toolSecretCipher(),
    clock,
  });
  tokens ??= clientTokens({ rules, clock });
  const [values, issued] = [secretValues, tokens];
  return {
    toolSecrets: toolSecrets(),
    http: remoteHttp({
      rules,
      credentialOf: (auth, target) => credentialOf(values, auth, target, issued),
      depth: requestDepth,
    }),
    countUse,
  };
}
