import middy from '@middy/core';
import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { ServiceError } from '#contract/errors.ts';
import { formatLimits } from '#contract/rate-limits.ts';
import { environment } from '#runtime/environment/environment.ts';
import { signedCallerField } from '#runtime/environment/variables.ts';
import { signCaller } from '#runtime/http/signed-caller.ts';
import { endInvocation, observedRequests } from '#runtime/observability/invocation.ts';
import { authorize } from '#runtime/routes/authorize-request.ts';

/** The gateway maps `Unauthorized` to 400/10001, a Deny policy to 403/10001, and any other error to 500/10005. */
const unauthorized = () => new Error('Unauthorized');

export const handler = observedRequests(
  middy<APIGatewayRequestAuthorizerEvent, APIGatewayAuthorizerResult>()
    .after(() => endInvocation())
    .onError(() => endInvocation())
    .handler(async (event) => {
      const header = Object.entries(event.headers ?? {}).find(([name]) => name.toLowerCase() === 'x-api-key');
      if (!header?.[1]) throw unauthorized();
      try {
        const { workspaceId, apiKeyId, expiresAt, limits } = await authorize(header[1]);
        const caller = {
          workspaceId,
          apiKeyId,
          ...(expiresAt !== null && { apiKeyExpiresAt: expiresAt }),
          ...(limits !== null && { limits: formatLimits(limits) }),
        };
        return policy('Allow', event.methodArn, apiKeyId, { ...caller, ...(await signedFields(caller)) });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.kind === 'accessDenied') return policy('Deny', event.methodArn, 'disabled', {});
        throw unauthorized();
      }
    }),
);

/** What the gateway sends to a web function as the caller. */
const signedFields = async (caller: Record<string, string>): Promise<Record<string, string>> =>
  environment('callerSecret') === undefined ? {} : { [signedCallerField]: await signCaller(caller) };

/** The policy covers the whole stage, because the gateway caches it for every method called with the key. */
function policy(
  Effect: 'Allow' | 'Deny',
  methodArn: string,
  principalId: string,
  context: Record<string, string>,
): APIGatewayAuthorizerResult {
  const [api, stage] = methodArn.split('/');
  return {
    principalId,
    policyDocument: {
      Version: '2012-10-17',
      Statement: [{ Action: 'execute-api:Invoke', Effect, Resource: `${api}/${stage}/*` }],
    },
    context,
  };
}
