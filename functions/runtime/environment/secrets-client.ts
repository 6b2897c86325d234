import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { clientTimeouts, lazily } from './environment.ts';

export const secretsClient = lazily(() => new SecretsManagerClient({ requestHandler: clientTimeouts }));
