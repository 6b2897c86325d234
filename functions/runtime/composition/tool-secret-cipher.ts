import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretCipher } from '#adapters/secrets.ts';
import type { SecretOwner, ToolSecretCipher } from '#domain/tools/tool-secret.ts';
import { clientTimeouts, environment } from '#runtime/environment/environment.ts';

/** Import this module only dynamically, so that KMS's client does not slow down the start of functions. */
export const toolSecretCipher: ToolSecretCipher = kmsSecretCipher<SecretOwner>(
  new KMSClient({ requestHandler: clientTimeouts }),
  environment('toolSecretKey'),
  ({ workspaceId, name, hosts }) => ({ workspace: workspaceId, secret: name, hosts: hosts.join(' ') }),
);
