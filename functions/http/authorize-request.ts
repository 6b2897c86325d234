import middy from '@middy/core';
import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent, Context } from 'aws-lambda';
import { type ErrorKind, ServiceError } from '#contract/errors.ts';
import { formatLimits } from '#contract/rate-limits.ts';
import { openAiPath } from '#contract/routes/dialect.ts';
import type { Caller } from '#domain/workspaces/api-keys.ts';
import { authorizer } from '#runtime/composition/services.ts';
import { environment } from '#runtime/environment/environment.ts';
import { signedCallerField } from '#runtime/environment/variables.ts';
import { signCaller } from '#runtime/http/caller-secrets.ts';
import { endInvocation, runRequest } from '#runtime/observability/invocation.ts';

const authorize = authorizer();

/** The gateway maps this message to 400/10001. */
const unauthorized = new Error('Unauthorized');

const authorized = middy<APIGatewayRequestAuthorizerEvent, APIGatewayAuthorizerResult>()
  .after(() => endInvocation())
  .onError(({ error }) => endInvocation(error === unauthorized ? 'error' : 'fault'))
  .handler(async (event) => {
    const key = keyIn(event);
    if (!key) return reject(event, 'unauthenticated');
    try {
      return await allow(event, callerFields(await authorize(key)));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return reject(event, error.kind);
    }
  });

export const handler = (event: APIGatewayRequestAuthorizerEvent, context: Context) =>
  runRequest(event, context, () => authorized(event, context));

/** `resource` is the route's own path, not the one that the client has sent. */
const isOpenAi = ({ resource }: APIGatewayRequestAuthorizerEvent): boolean =>
  resource.includes(`${openAiPath}/`);

const keyIn = (event: APIGatewayRequestAuthorizerEvent): string | undefined =>
  isOpenAi(event)
    ? /^Bearer +(\S+)$/i.exec(headerOf(event, 'authorization') ?? '')?.[1]
    : headerOf(event, 'x-api-key');

/**
 * The gateway has no response in OpenAI's form, so a route of that form gets the rejection. For others, the gateway
 * maps `Unauthorized` to 400/10001 and a Deny policy to 403/10001.
 */
async function reject(
  event: APIGatewayRequestAuthorizerEvent,
  rejection: ErrorKind,
): Promise<APIGatewayAuthorizerResult> {
  if (isOpenAi(event)) return allow(event, { rejection });
  if (rejection === 'accessDenied') return policy('Deny', event.methodArn, 'disabled', {});
  throw unauthorized;
}

const headerOf = ({ headers }: APIGatewayRequestAuthorizerEvent, wanted: string): string | undefined =>
  Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === wanted)?.[1];

const callerFields = ({ workspaceId, apiKeyId, expiresAt, limits }: Caller) => ({
  workspaceId,
  apiKeyId,
  ...(expiresAt !== null && { apiKeyExpiresAt: expiresAt }),
  ...(limits !== null && { limits: formatLimits(limits) }),
});

const allow = async (
  { methodArn }: APIGatewayRequestAuthorizerEvent,
  caller: Record<string, string>,
): Promise<APIGatewayAuthorizerResult> =>
  policy('Allow', methodArn, caller.apiKeyId ?? 'none', {
    ...caller,
    ...(environment('callerSecret') !== undefined && { [signedCallerField]: await signCaller(caller) }),
  });

/** The policy covers the whole stage, because the gateway may use it from its cache for other methods. */
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
