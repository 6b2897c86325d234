import process from 'node:process';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { fromHttp } from '@aws-sdk/credential-provider-http';
import { doesIdentityRequireRefresh, isIdentityExpired, memoizeIdentityProvider } from '@smithy/core';

/**
 * Where Lambda puts a role's credentials: into the environment, or behind an address that it names there. Takes the place
 * of the SDK's default chain in all bundles, whose other links (profiles, SSO, processes, web identities, EC2) are
 * 130 KB in each that no function can use. Like the default chain it is asked once, and again when what it gave expires.
 */
export const defaultProvider: typeof fromHttp = (init = {}) =>
  memoizeIdentityProvider(
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI === undefined ? fromEnv(init) : fromHttp(init),
    isIdentityExpired,
    doesIdentityRequireRefresh,
  ) as ReturnType<typeof fromHttp>;
