import { KMSClient } from '@aws-sdk/client-kms';
import { kmsSecretCipher } from '#adapters/secrets.ts';
import type { SecretOwner, ToolSecretCipher } from '#domain/tools/tool-secret.ts';
import { clientTimeouts, environment } from '#runtime/environment/environment.ts';

/** A separate file of the functions' bundles, so that KMS's client does not slow down their start. */
export const toolSecretCipher: ToolSecretCipher = kmsSecretCipher<SecretOwner>(
  new KMSClient({ requestHandler: clientTimeouts }),
  environment('toolSecretKey'),
  ({ workspaceId, name, hosts }) => ({ workspace: workspaceId, secret: name, hosts: hosts.join(' ') }),
);
