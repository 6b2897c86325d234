import { reject, type TemplateResource } from '../template/resource-kind.ts';
import type { ApiAuthorizer } from './api-model.ts';
import { type ApiResources, functionArnIn } from './api-resources.ts';

const DEFAULT_CACHE_SECONDS = 300;

interface AuthorizerProperties {
  readonly AuthorizerCredentials?: string;
  readonly AuthorizerResultTtlInSeconds?: number;
  readonly AuthorizerUri?: string;
  readonly IdentitySource?: string;
  readonly Type: string;
}

/** By logical id. */
export function readAuthorizers({ ofType, read }: ApiResources): ReadonlyMap<string, ApiAuthorizer> {
  return new Map(
    ofType('Authorizer').map((resource) => [
      resource.logicalId,
      readAuthorizer(resource, read<AuthorizerProperties>(resource)),
    ]),
  );
}

function readAuthorizer(
  resource: TemplateResource,
  {
    Type,
    AuthorizerUri,
    AuthorizerCredentials,
    IdentitySource = '',
    AuthorizerResultTtlInSeconds,
  }: AuthorizerProperties,
): ApiAuthorizer {
  if (Type !== 'REQUEST') reject(resource, `an authorizer of type ${Type} cannot run locally`);
  return {
    logicalId: resource.logicalId,
    functionArn: functionArnIn(AuthorizerUri) ?? reject(resource, 'its AuthorizerUri names no function'),
    credentials: AuthorizerCredentials,
    identityHeaders: IdentitySource.split(',').map(
      (source) =>
        /^ *method\.request\.header\.(\S+) *$/.exec(source)?.[1] ??
        reject(resource, `the identity source ${source} cannot run locally`),
    ),
    cacheSeconds: AuthorizerResultTtlInSeconds ?? DEFAULT_CACHE_SECONDS,
  };
}
