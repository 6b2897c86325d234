import type { Throttle } from '../wire/throttle.ts';

export interface ApiModel {
  readonly apiId: string;
  readonly stage: string;
  readonly arn: string;
  readonly accountId: string;
  readonly root: PathNode;
  readonly binaryMediaTypes: readonly string[];
  readonly gatewayResponses: ReadonlyMap<string, GatewayResponse>;
  readonly streamIdleMilliseconds: number;
}

export interface PathNode {
  readonly resourceId: string;
  readonly resourcePath: string;
  readonly pathPart: string;
  readonly children: PathNode[];
  readonly methods: Map<string, ApiMethod>;
}

export interface ApiMethod {
  readonly logicalId: string;
  readonly integration: FunctionIntegration | HttpIntegration | MockIntegration;
  readonly authorizer: ApiAuthorizer | undefined;
  readonly throttle: Throttle;
}

interface ProxyIntegration {
  readonly streamed: boolean;
  readonly timeoutMilliseconds: number;
}

export interface FunctionIntegration extends ProxyIntegration {
  readonly functionArn: string;
  /** The ARN of the role with which the gateway calls the function. */
  readonly credentials: string | undefined;
}

export interface HttpIntegration extends ProxyIntegration {
  readonly httpMethod: string;
  readonly domainName: string;
  readonly path: string;
  /**
   * By the value's place in the integration's request, such as `path.chat_id`: the value's source, such as
   * `context.requestId`.
   */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface MockIntegration {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

export interface ApiAuthorizer {
  readonly logicalId: string;
  readonly functionArn: string;
  readonly credentials: string | undefined;
  /** The cache key has the values of these headers. A request in which one is missing or empty is rejected. */
  readonly identityHeaders: readonly string[];
  readonly cacheSeconds: number;
}

export interface GatewayResponse {
  readonly ResponseType: string;
  readonly StatusCode?: string;
  /** By `gatewayresponse.header.NAME`: `context.x`, `method.request.header.x` or a quoted literal. */
  readonly ResponseParameters?: Readonly<Record<string, string>>;
  readonly ResponseTemplates?: Readonly<Record<string, string>>;
}
