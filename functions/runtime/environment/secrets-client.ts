import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { clientTimeouts, lazily } from './environment.ts';

/** Apart from environment.ts, which the commands of clients load too. */
export const secretsClient = /* @__PURE__ */ lazily(
  () => new SecretsManagerClient({ requestHandler: clientTimeouts }),
);
