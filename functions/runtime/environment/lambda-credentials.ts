import process from 'node:process';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { fromHttp } from '@aws-sdk/credential-provider-http';
import { doesIdentityRequireRefresh, isIdentityExpired, memoizeIdentityProvider } from '@smithy/core';

/**
 * Replaces the SDK's default chain in the functions' bundles: no function can use the chain's other providers, such as
 * profiles and SSO.
 */
export const defaultProvider: typeof fromHttp = (init = {}) =>
  memoizeIdentityProvider(
    process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI === undefined ? fromEnv(init) : fromHttp(init),
    isIdentityExpired,
    doesIdentityRequireRefresh,
  ) as ReturnType<typeof fromHttp>;

export function lambdaRegion(): string {
  const { AWS_REGION } = process.env;
  if (!AWS_REGION) throw new Error('The environment variable AWS_REGION is missing');
  return AWS_REGION;
}
