import { Script } from 'node:vm';
import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { callAwsJson } from '../wire/call-aws-json.ts';
import { type ResponseHeadersPolicy, readResponseHeadersPolicy } from './response-headers-policy.ts';

export type Distribution = Awaited<ReturnType<typeof readDistribution>>;
export type Behavior = Distribution['behaviors'][number];

type EventHeaders = Record<string, { value: string }>;

type ViewerRequest = (request: { method: string; uri: string; headers: EventHeaders }) => EventHeaders;

interface BehaviorProperties {
  readonly AllowedMethods?: readonly string[];
  readonly CachePolicyId?: string;
  readonly OriginRequestPolicyId?: string;
  readonly PathPattern?: string;
  readonly ResponseHeadersPolicyId?: string;
  readonly TargetOriginId: string;
  readonly FunctionAssociations?: readonly { readonly EventType: string; readonly FunctionARN: string }[];
}

interface OriginProperties {
  readonly Id: string;
  readonly DomainName: string;
  readonly OriginPath?: string;
  readonly CustomOriginConfig?: { readonly OriginReadTimeout?: number };
  readonly ResponseCompletionTimeout?: number;
  readonly OriginCustomHeaders?: readonly { readonly HeaderName: string; readonly HeaderValue: string }[];
}

interface DistributionProperties {
  readonly DistributionConfig: {
    readonly CacheBehaviors?: readonly BehaviorProperties[];
    readonly CustomErrorResponses?: readonly {
      readonly ErrorCode: number;
      readonly ErrorCachingMinTTL?: number;
      readonly ResponsePagePath?: string;
    }[];
    readonly DefaultCacheBehavior: BehaviorProperties;
    readonly Origins: readonly OriginProperties[];
  };
}

// CloudFront's default.
const READ_TIMEOUT_SECONDS = 30;

// Ids of managed policies of CloudFront.
const CACHING_DISABLED = '4135ea2d-6df8-44a3-9df3-4b5a84be39ad';
const ALL_VIEWER_EXCEPT_HOST_HEADER = 'b689b0a8-53d0-40ab-baf2-68738e2966ac';

export async function readDistribution(
  resource: TemplateResource,
  resources: readonly TemplateResource[],
  context: RunContext,
) {
  const { DistributionConfig: config } = context.read<DistributionProperties>(resource);

  const read = async (origin: OriginProperties) =>
    [origin.Id, await readOrigin(origin, context, resource)] as const;
  const origins = new Map(await Promise.all(config.Origins.map(read)));
  const functions = new Map<unknown, ViewerRequest>();
  const policies = new Map<unknown, ResponseHeadersPolicy>();
  for (const entry of resources) {
    const { type, logicalId } = entry;
    if (type === 'AWS::CloudFront::Function') {
      const arn = context.resolve({ 'Fn::GetAtt': [logicalId, 'FunctionARN'] }, logicalId);
      functions.set(arn, compile(context.read<{ FunctionCode: string }>(entry).FunctionCode, logicalId));
    }
    if (type === 'AWS::CloudFront::ResponseHeadersPolicy')
      policies.set(context.resolve({ Ref: logicalId }, logicalId), readResponseHeadersPolicy(entry, context));
  }

  const readBehavior = (properties: BehaviorProperties) => {
    if (properties.CachePolicyId !== CACHING_DISABLED)
      reject(resource, 'only a behaviour without caching can run locally');
    if (properties.OriginRequestPolicyId !== ALL_VIEWER_EXCEPT_HOST_HEADER)
      reject(resource, 'only a behaviour that passes on all but the host can run locally');
    const associations = properties.FunctionAssociations ?? [];
    const other = associations.find(({ EventType }) => EventType !== 'viewer-request');
    if (other) reject(resource, `a function at ${other.EventType} cannot run locally`);
    const [association] = associations;
    const { ResponseHeadersPolicyId: policyId } = properties;
    if (policyId !== undefined && !policies.has(policyId))
      reject(resource, `the response headers policy ${policyId} is missing`);
    return {
      /** CloudFront adds the slash. */
      pattern: (properties.PathPattern ?? '*').replace(/^[^/*]/, '/$&'),
      methods: properties.AllowedMethods ?? ['GET', 'HEAD'],
      origin:
        origins.get(properties.TargetOriginId) ??
        reject(resource, `the origin ${properties.TargetOriginId} is missing`),
      viewerRequest:
        association &&
        (functions.get(association.FunctionARN) ??
          reject(resource, `the function ${association.FunctionARN} is missing`)),
      responseHeaders: policies.get(policyId),
    };
  };
  const errorSeconds = new Map<number, number>();
  for (const { ErrorCode, ErrorCachingMinTTL, ResponsePagePath } of config.CustomErrorResponses ?? []) {
    if (ResponsePagePath !== undefined)
      reject(resource, `a page in place of the error ${ErrorCode} cannot run locally`);
    if (ErrorCachingMinTTL !== undefined) errorSeconds.set(ErrorCode, ErrorCachingMinTTL);
  }
  return {
    behaviors: [...(config.CacheBehaviors ?? []), config.DefaultCacheBehavior].map(readBehavior),
    errorSeconds,
  };
}

async function readOrigin(properties: OriginProperties, context: RunContext, resource: TemplateResource) {
  const { DomainName, OriginPath, OriginCustomHeaders = [], CustomOriginConfig } = properties;
  if (OriginPath) reject(resource, `the origin path ${OriginPath} cannot run locally`);
  if (properties.ResponseCompletionTimeout !== undefined)
    reject(resource, 'a response completion timeout cannot run locally');
  const headers = OriginCustomHeaders.map(
    async ({ HeaderName, HeaderValue }) => [HeaderName, await resolveSecret(HeaderValue, context)] as const,
  );
  return {
    domainName: DomainName,
    customHeaders: await Promise.all(headers),
    readTimeoutMilliseconds: (CustomOriginConfig?.OriginReadTimeout ?? READ_TIMEOUT_SECONDS) * 1000,
  };
}

async function resolveSecret(value: string, context: RunContext): Promise<string> {
  const [, SecretId] = /^\{\{resolve:secretsmanager:(.+):SecretString:::\}\}$/.exec(value) ?? [];
  if (SecretId === undefined) return value;
  const endpoint = context.endpoints.secretsmanager ?? '';
  const { SecretString } = await callAwsJson<{ SecretString: string }>(
    endpoint,
    'secretsmanager.GetSecretValue',
    { SecretId },
  );
  return SecretString;
}

function compile(code: string, logicalId: string): ViewerRequest {
  const handler = new Script(`${code}\nhandler`, { filename: logicalId }).runInNewContext({}) as (event: {
    request: unknown;
  }) => { headers: EventHeaders };
  return (request) => handler({ request }).headers;
}
