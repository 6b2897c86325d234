import type { AccessControl } from '../iam/access-control.ts';
import type { Denial } from '../iam/access-rules.ts';
import { matchesPattern } from '../iam/matches-pattern.ts';
import { findFunction } from '../lambda/find-function.ts';
import type { InvokableFunction } from '../lambda/invokable-function.ts';
import type { RunContext } from '../run-context.ts';
import type { ApiAuthorizer, ApiModel } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import type { GatewayRequest, RequestEvent } from './proxy-event.ts';

export type AuthorizeContext = Pick<RunContext, 'functions' | 'access' | 'options' | 'onOperatorWrite'>;

type AuthorizerResult = Awaited<ReturnType<typeof send>>;

/** The returned function caches results for `cacheSeconds`. It throws a GatewayFailure to reject a request. */
export function createAuthorize(
  api: ApiModel,
  { functions, access, options, onOperatorWrite }: AuthorizeContext,
) {
  let cache = new Map<string, { readonly result: AuthorizerResult; readonly expires: number }>();
  if (options.clearAuthorizerCacheOnWrite)
    onOperatorWrite.push(() => {
      cache = new Map();
    });

  return async (
    authorizer: ApiAuthorizer,
    event: RequestEvent,
    gatewayRequest: GatewayRequest,
  ): Promise<Record<string, unknown>> => {
    const identity = authorizer.identityHeaders.map(gatewayRequest.headerValue);
    // If an identity source is missing or empty, API Gateway rejects the request without a call of the function.
    if (identity.some((value) => !value)) throw new GatewayFailure('UNAUTHORIZED');

    const methodArn = `${api.arn}/${api.stage}/${gatewayRequest.httpMethod}${gatewayRequest.path}`;
    const key = JSON.stringify([authorizer.logicalId, ...identity]);
    const cached = cache.get(key);
    const started = performance.now();
    let result: AuthorizerResult;
    if (cached && cached.expires > Date.now()) result = cached.result;
    else {
      const sourceArn = `${api.arn}/authorizers/${authorizer.logicalId}`;
      if (denialOfInvocation(access, { ...authorizer, sourceArn }))
        throw new GatewayFailure('AUTHORIZER_CONFIGURATION_ERROR');
      // If the cache is cleared during this call, the result goes into the old one, which is no longer read.
      const currentCache = cache;
      result = await send(findFunction({ functions }, authorizer.functionArn), {
        type: 'REQUEST',
        methodArn,
        ...event,
      });
      if (authorizer.cacheSeconds > 0)
        currentCache.set(key, { result, expires: Date.now() + authorizer.cacheSeconds * 1000 });
    }

    const effect = policyEffect(result.statements, methodArn);
    if (effect === 'explicit deny')
      throw new GatewayFailure(
        'ACCESS_DENIED',
        'User is not authorized to access this resource with an explicit deny',
      );
    if (effect === 'implicit deny') throw new GatewayFailure('ACCESS_DENIED');
    return {
      ...Object.fromEntries(Object.entries(result.context).map(([name, value]) => [name, String(value)])),
      principalId: result.principalId,
      integrationLatency: Math.round(performance.now() - started),
    };
  };
}

async function send(fn: InvokableFunction | undefined, event: unknown) {
  const result = await fn?.invoke(JSON.stringify(event));
  if (!result?.succeeded)
    throw new GatewayFailure(result?.errorMessage === 'Unauthorized' ? 'UNAUTHORIZED' : 'AUTHORIZER_FAILURE');
  const response = JSON.parse(result.payload) as {
    principalId?: unknown;
    policyDocument?: { Statement?: PolicyStatement | PolicyStatement[] };
    context?: Record<string, unknown>;
  } | null;
  const statements = [response?.policyDocument?.Statement ?? []].flat();
  const context = response?.context ?? {};
  const isFlat = Object.values(context).every((value) =>
    ['string', 'number', 'boolean'].includes(typeof value),
  );
  if (typeof response?.principalId !== 'string' || statements.length === 0 || !isFlat)
    throw new GatewayFailure('AUTHORIZER_CONFIGURATION_ERROR');
  return { principalId: response.principalId, statements, context };
}

interface PolicyStatement {
  readonly Action?: string | readonly string[];
  readonly Effect?: string;
  readonly Resource?: string | readonly string[];
}

function policyEffect(statements: readonly PolicyStatement[], methodArn: string) {
  const matching = statements.filter(
    ({ Action, Resource }) =>
      [Action ?? []].flat().some((action) => matchesPattern(action.toLowerCase(), 'execute-api:invoke')) &&
      [Resource ?? []].flat().some((resource) => matchesPattern(resource, methodArn)),
  );
  if (matching.some(({ Effect }) => Effect === 'Deny')) return 'explicit deny';
  return matching.some(({ Effect }) => Effect === 'Allow') ? 'allow' : 'implicit deny';
}

const SERVICE = 'apigateway.amazonaws.com';

interface Invocation {
  readonly functionArn: string;
  /** If undefined, the function's own policy must allow the call. */
  readonly credentials: string | undefined;
  readonly sourceArn: string;
}

/**
 * Undefined if API Gateway may call the function.
 * @throws Error if API Gateway cannot assume the role
 */
export function denialOfInvocation(
  access: Pick<AccessControl, 'assume' | 'denialOfService' | 'rejectionOf'>,
  { functionArn, credentials, sourceArn }: Invocation,
): Denial | undefined {
  const needed = { action: 'lambda:InvokeFunction', resource: functionArn };
  if (credentials === undefined) return access.denialOfService(SERVICE, sourceArn, needed);
  const { accessKeyId } = access.assume({
    roleArn: credentials,
    service: SERVICE,
    sessionName: 'BackplaneAssumeRoleSession',
  });
  return access.rejectionOf(accessKeyId, [needed]);
}
