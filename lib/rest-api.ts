import {
  AccessLogFormat,
  AwsIntegration,
  DomainName,
  EndpointType,
  RestApi as GatewayRestApi,
  HttpIntegration,
  IdentitySource,
  type Integration,
  type IResource,
  type IRestApi,
  LogGroupLogDestination,
  MethodLoggingLevel,
  type MethodOptions,
  RequestAuthorizer,
  ResponseTransferMode,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets';
import { type CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { dialectOf, dialects } from '#contract/routes/dialect.ts';
import { pathsOf } from '#contract/routes/route.ts';
import { type Route, type RouteName, routes } from '#contract/routes.ts';
import { gatewayHeaders, signedCallerField } from '#runtime/environment/variables.ts';
import { type CustomDomain, pointDomain } from './custom-domain.ts';
import { Firewall, type FirewallSettings, OriginFirewall } from './firewall.ts';
import { isChatRoute } from './function-table.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import { pinLogicalId } from './logical-id.ts';
import { addPreflight } from './preflights.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { ServiceFunction } from './service-function.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';
import type { OriginSecrets } from './stack-secrets.ts';
import type { WebServer } from './web-server.ts';

const stageName = 'api';
const versionPath = 'v1';

/** API Gateway's maximum timeout of a buffered response. */
const bufferedLimitSeconds = 29;

/** API Gateway's maximum timeout of a streamed response. */
const streamedLimitSeconds = 15 * 60;

/** Added to a function's timeout for the gateway's timeout: only the gateway's timeout includes a cold start. */
const coldStartSeconds = 10;

/**
 * The gateway: all routes of the route table, one authorizer, and the gateway's own errors in the envelope of the
 * service.
 */
export class RestApi extends Construct {
  /** The URL of the gateway or of the custom domain. It ends in /api/v1. */
  readonly baseAddress: string;
  readonly basePath = `/${stageName}/${versionPath}`;
  readonly domainName: string;
  readonly accessLogs: LogGroup;
  private readonly api: GatewayRestApi;
  /** The gateway calls functions with this role. Permissions in the functions would be a resource for each method. */
  private readonly callerRole: ServiceRole;

  constructor(
    scope: Construct,
    id: string,
    props: {
      authorizer: ServiceFunction;
      /** The functions of the routes that the web server does not serve. */
      handlerOf: (route: RouteName) => ServiceFunction;
      /** Serves `chatRoutes` in place of their functions; undefined if functions serve them. */
      webServer: WebServer | undefined;
      /** The custom domain; undefined if the distribution has it, or if there is none. */
      domain: CustomDomain | undefined;
      firewall: FirewallSettings | undefined;
      /** The secrets of the distribution in front of the gateway. A distribution has the firewall's rules. */
      originSecrets: OriginSecrets | undefined;
      /**
       * The origin that responses allow; undefined if the distribution adds the CORS headers, or if none is allowed.
       */
      corsOrigin: string | undefined;
      settings: Settings;
    },
  ) {
    super(scope, id);
    this.callerRole = new ServiceRole(this, 'CallerRole', 'apigateway.amazonaws.com');
    this.accessLogs = new LogGroup(this, 'AccessLogs', logsOf(props.settings));
    pinLogicalId(this.accessLogs, 'GatewayAccessLogs');
    const api = this.createApi(props);
    this.api = api;
    const resources = this.addRoutes(api, props);
    // A deployment of the gateway is a copy: with another endpoint, a new deployment must take the place of the old one.
    if (props.webServer !== undefined)
      api.latestDeployment?.addToLogicalId({ endpoint: props.webServer.endpointId });
    if (props.settings.corsOrigins.length > 0)
      for (const resource of resources) addPreflight(resource, props.corsOrigin);
    addGatewayResponses(api, props.corsOrigin);
    if (props.domain !== undefined) this.attachDomain(api, props.domain);
    if (props.firewall !== undefined)
      this.attachFirewall(api, this.firewallOf(props.firewall, props.originSecrets));
    this.baseAddress =
      props.domain === undefined
        ? api.urlForPath(`/${versionPath}`)
        : `https://${props.domain.name}${this.basePath}`;
    const { region, urlSuffix } = Stack.of(this);
    this.domainName = `${api.restApiId}.execute-api.${region}.${urlSuffix}`;
  }

  metricRequests(options: MetricOptions): Metric {
    return this.api.metricCount(options);
  }

  /** Responses with a 5xx status. */
  metricServerErrors(options: MetricOptions): Metric {
    return this.api.metricServerError({ statistic: 'Sum', ...options });
  }

  metricClientErrors(options: MetricOptions): Metric {
    return this.api.metricClientError({ statistic: 'Sum', ...options });
  }

  private attachDomain(api: GatewayRestApi, domain: CustomDomain): void {
    const name = new DomainName(this, 'Domain', {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
      // The library's classes and interfaces disagree under exactOptionalPropertyTypes.
      mapping: api as IRestApi,
      // The path is the same at the gateway's own address, so links are correct at both.
      basePath: stageName,
    });
    pointDomain(this, domain, new ApiGatewayDomain(name), { ipv6: false });
  }

  private firewallOf(firewall: FirewallSettings, originSecrets: OriginSecrets | undefined): CfnWebACL {
    return originSecrets === undefined
      ? new Firewall(this, 'Firewall', { firewall, inFrontOf: 'gateway' })
      : new OriginFirewall(this, 'OriginFirewall', { firewall, originSecrets });
  }

  private attachFirewall(api: GatewayRestApi, { attrArn }: CfnWebACL): void {
    new CfnWebACLAssociation(this, 'FirewallOfStage', {
      resourceArn: api.deploymentStage.stageArn,
      webAclArn: attrArn,
    });
  }

  /** Returns the resources that pages in browsers may call. */
  private addRoutes(
    api: GatewayRestApi,
    props: Parameters<RestApi['createAuthorizer']>[2] & { handlerOf: (route: RouteName) => ServiceFunction },
  ): Set<IResource> {
    const openAiAuthorizer = this.createAuthorizer('OpenAiAuthorizer', dialects.openai.keyHeader, props);
    const resources = new Set<IResource>();
    for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
      const isOpenAi = dialectOf(route) === dialects.openai;
      const options = isOpenAi ? { authorizer: openAiAuthorizer } : {};
      const added =
        props.webServer !== undefined && isChatRoute(name)
          ? addRoute(api, route, forward(route, props.webServer), {
              ...options,
              requestParameters: pathOf(route),
            })
          : addRoute(api, route, this.invoke(route, props.handlerOf(name)), options);
      // The OpenAI-compatible routes are for servers: a page in a browser would show its key to everyone.
      if (!isOpenAi) for (const resource of added) resources.add(resource);
    }
    return resources;
  }

  /**
   * The gateway caches results by authorizer. With a web function it is a new one, with another id, so that there are no
   * results without a signed caller.
   */
  private createAuthorizer(
    id: string,
    header: string,
    {
      authorizer,
      webServer,
      settings,
    }: { authorizer: ServiceFunction; webServer: WebServer | undefined; settings: Settings },
  ): RequestAuthorizer {
    return new RequestAuthorizer(this, webServer === undefined ? id : `Signing${id}`, {
      handler: authorizer.alias,
      assumeRole: this.roleFor(authorizer),
      identitySources: [IdentitySource.header(header)],
      resultsCacheTtl: Duration.seconds(settings.authorizerCacheSeconds),
    });
  }

  /** Calls a function for each request of a route. The library's `LambdaIntegration` would also add a permission. */
  private invoke(route: Route, handler: ServiceFunction): Integration {
    const isStreamed = route.transfer === 'streamed';
    const path = isStreamed
      ? `2021-11-15/functions/${handler.alias.functionArn}/response-streaming-invocations`
      : `2015-03-31/functions/${handler.alias.functionArn}/invocations`;
    return new AwsIntegration({
      service: 'lambda',
      proxy: true,
      path,
      options: {
        credentialsRole: this.roleFor(handler),
        ...(isStreamed && {
          responseTransferMode: ResponseTransferMode.STREAM,
          timeout: Duration.seconds(Math.min(route.timeoutSeconds + coldStartSeconds, streamedLimitSeconds)),
        }),
      },
    });
  }

  /** Returns the gateway's role, which then may call the function. */
  private roleFor(handler: ServiceFunction): IRole {
    this.callerRole.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [handler.aliasByName.functionArn],
      }),
    );
    // The library adds a policy to the role of an authorizer if it may.
    return this.callerRole.withoutPolicyUpdates();
  }

  private createApi(props: {
    settings: Settings;
    authorizer: ServiceFunction;
    webServer: WebServer | undefined;
  }): GatewayRestApi {
    const { settings } = props;
    const api = new GatewayRestApi(this, 'Gateway', {
      // The metrics have this name as a dimension. The library's default name would be the same in every stage.
      restApiName: Stack.of(this).stackName,
      description: 'Chats with published agents',
      // A Regional endpoint closes an idle stream after 5 minutes, an edge-optimized one after 30 s.
      endpointTypes: [EndpointType.REGIONAL],
      binaryMediaTypes: ['multipart/form-data'],
      cloudWatchRole: true,
      defaultMethodOptions: {
        authorizer: this.createAuthorizer('Authorizer', dialects.service.keyHeader, props),
      },
      deployOptions: {
        stageName,
        accessLogDestination: new LogGroupLogDestination(this.accessLogs),
        accessLogFormat: accessLogFormat(),
        loggingLevel: MethodLoggingLevel.ERROR,
        // API Gateway applies these limits to each method separately.
        throttlingRateLimit: settings.gatewayRequestsPerSecond,
        throttlingBurstLimit: settings.gatewayBurst,
        // A data trace would log whole requests with their messages and keys.
        dataTraceEnabled: false,
        // Traces then start at the gateway and not at the function.
        tracingEnabled: true,
      },
    });
    // Without a distribution, clients use the gateway's address. A new gateway would have another address.
    pinLogicalId(api, 'Gateway');
    // The stack has the output BaseAddress. The library's own output lacks /v1.
    api.node.tryRemoveChild('Endpoint');
    // Without this group, API Gateway would create one with the same name, and its lines would never expire.
    const executionLogs = new LogGroup(this, 'ExecutionLogs', {
      logGroupName: `API-Gateway-Execution-Logs_${api.restApiId}/${stageName}`,
      ...logsOf(settings),
    });
    pinLogicalId(executionLogs, 'GatewayExecutionLogs');
    api.deploymentStage.node.addDependency(executionLogs);
    acknowledgeRules(api);
    return api;
  }
}

const logsOf = (settings: Settings) => ({
  retention: settings.logRetentionDays,
  removalPolicy: removalPolicyOf(settings),
});

/** Adds the methods of a route. Returns their resources. */
const addRoute = (
  api: GatewayRestApi,
  route: Route,
  integration: Integration,
  options: MethodOptions,
): IResource[] =>
  pathsOf(route).map((path) => {
    const resource = api.root.resourceForPath(versionPath + path);
    resource.addMethod(route.method, integration, options);
    return resource;
  });

/** Forwards a request to the web function, with the caller that the authorizer has signed. */
function forward(route: Route, { domainName }: WebServer): HttpIntegration {
  const isStreamed = route.transfer === 'streamed';
  const headers = {
    [gatewayHeaders.signedCaller]: `context.authorizer.${signedCallerField}`,
    [gatewayHeaders.requestId]: 'context.requestId',
    [gatewayHeaders.extendedRequestId]: 'context.extendedRequestId',
  };
  return new HttpIntegration(`https://${domainName}${route.path}`, {
    httpMethod: route.method,
    options: {
      requestParameters: {
        ...Object.fromEntries(
          Object.entries(headers).map(([name, value]) => [`integration.request.header.${name}`, value]),
        ),
        ...Object.fromEntries(
          Object.keys(route.parameters.shape).map((name) => [
            `integration.request.path.${name}`,
            `method.request.path.${name}`,
          ]),
        ),
      },
      ...(isStreamed && { responseTransferMode: ResponseTransferMode.STREAM }),
      timeout: Duration.seconds(
        isStreamed
          ? Math.min(route.timeoutSeconds + coldStartSeconds, streamedLimitSeconds)
          : bufferedLimitSeconds,
      ),
    },
  });
}

const pathOf = ({ parameters }: Route): Record<string, boolean> =>
  Object.fromEntries(Object.keys(parameters.shape).map((name) => [`method.request.path.${name}`, true]));

/**
 * The fields of an access log line. No field is a header, so no key is logged. No field can contain a quotation mark,
 * because API Gateway does not escape it; so error messages are only in the execution log.
 */
function accessLogFormat(): AccessLogFormat {
  return AccessLogFormat.custom(
    JSON.stringify({
      requestTime: '$context.requestTime',
      requestId: '$context.requestId',
      method: '$context.httpMethod',
      route: '$context.resourcePath',
      status: '$context.status',
      responseBytes: '$context.responseLength',
      responseMilliseconds: '$context.responseLatency',
      integrationMilliseconds: '$context.integrationLatency',
      // First the status of the Lambda service, then the status that the function returned.
      invocationStatus: '$context.integration.integrationStatus',
      integrationStatus: '$context.integration.status',
      authorizerStatus: '$context.authorizer.integrationStatus',
      gatewayResponse: '$context.error.responseType',
      sourceAddress: '$context.identity.sourceIp',
      principal: '$context.authorizer.principalId',
    }),
  );
}

function acknowledgeRules(api: GatewayRestApi): void {
  Validations.of(api).acknowledge(
    {
      id: 'AwsSolutions-APIG2',
      reason: 'Handlers validate every request against the route table and name the wrong field.',
    },
    {
      id: 'AwsSolutions-APIG3',
      reason: 'Every request needs an API key; a firewall costs money, so the operator decides on it.',
    },
    {
      id: 'AwsSolutions-COG4',
      reason: 'Clients have API keys, which the request authorizer of every method checks.',
    },
    {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      reason: 'API Gateway rejects an account role that lacks any permission of this policy.',
    },
  );
}
