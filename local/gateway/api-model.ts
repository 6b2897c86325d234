/** A REST API of the template, without intrinsic functions. */
export interface ApiModel {
  readonly apiId: string;
  readonly stage: string;
  readonly region: string;
  readonly accountId: string;
  readonly root: PathNode;
  readonly binaryMediaTypes: readonly string[];
  /** By response type, such as UNAUTHORIZED or DEFAULT_4XX. */
  readonly gatewayResponses: ReadonlyMap<string, GatewayResponse>;
  /** The maximum time before the first part of a streamed response, and between two parts. */
  readonly streamIdleMilliseconds: number;
}

/** A resource of the path tree. */
export interface PathNode {
  readonly resourceId: string;
  /** Such as `/chats/{id}`. */
  readonly resourcePath: string;
  readonly pathPart: string;
  readonly children: PathNode[];
  /** By HTTP method, or ANY. */
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
  /** The ARN of the role with which the gateway calls the function, if it has one. */
  readonly credentials: string | undefined;
}

/** An integration that forwards the request to the endpoint of a web function of the same template. */
export interface HttpIntegration extends ProxyIntegration {
  readonly httpMethod: string;
  readonly domainName: string;
  /** With parameters, such as `/chats/{chat_id}`. */
  readonly path: string;
  /**
   * The source of each value, such as `context.requestId`, by the value's place in the integration's request, such as
   * `header.x-a` or `path.chat_id`.
   */
  readonly parameters: Readonly<Record<string, string>>;
}

/** An integration whose response is the same for all requests that it accepts, and has no body. */
export interface MockIntegration {
  readonly status: number;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
}

/** A token bucket: `burst` tokens, refilled with `requestsPerSecond`. */
export interface Throttle {
  readonly requestsPerSecond: number;
  readonly burst: number;
}

export interface ApiAuthorizer {
  readonly logicalId: string;
  readonly functionArn: string;
  /** As in `FunctionIntegration`. */
  readonly credentials: string | undefined;
  /** The values of these headers are the key of the cache. A request that lacks one of them is rejected. */
  readonly identityHeaders: readonly string[];
  readonly cacheSeconds: number;
}

/** The properties of an AWS::ApiGateway::GatewayResponse. */
export interface GatewayResponse {
  readonly ResponseType: string;
  readonly StatusCode?: string;
  /**
   * The source of each header, by `gatewayresponse.header.NAME`: `context.x`, `method.request.header.x` or a quoted
   * literal.
   */
  readonly ResponseParameters?: Readonly<Record<string, string>>;
  /** The template of the body, by content type. */
  readonly ResponseTemplates?: Readonly<Record<string, string>>;
}
