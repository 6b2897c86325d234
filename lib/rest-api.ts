import {
  AccessLogFormat,
  DomainName,
  EndpointType,
  RestApi as GatewayRestApi,
  IdentitySource,
  type IResource,
  type IRestApi,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RequestAuthorizer,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Alarm, Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets';
import { CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { dialectOf, dialects } from '#contract/routes/dialect.ts';
import { pathsOf } from '#contract/routes/route.ts';
import { type Route, type RouteName, routes } from '#contract/routes.ts';
import { variables } from '#runtime/environment/variables.ts';
import { isChatRoute } from './chat-routes.ts';
import { type CustomDomain, pointDomain } from './custom-domain.ts';
import { graph } from './dashboard.ts';
import { Firewall, type FirewallSettings, OriginFirewall } from './firewall.ts';
import { addGatewayResponses, addPreflight } from './gateway-responses.ts';
import { forward, invoke, pathOf } from './integrations.ts';
import { gatewayBurst } from './limits.ts';
import { gets } from './needs.ts';
import { limited, type Platform } from './platform.ts';
import { watchGateway, watchKeys, watchThrottledRequests } from './request-alarms.ts';
import { logsOf, pinLogicalId } from './retention.ts';
import type { ServiceFunction } from './service-function.ts';
import { everyServiceMetric } from './service-metric.ts';
import { ServiceRole } from './service-role.ts';
import type { Settings } from './settings.ts';
import type { OriginSecrets } from './trust.ts';
import type { WebServer } from './web-server.ts';

const stageName = 'api';
const versionPath = 'v1';

export class RestApi extends Construct {
  readonly baseAddress: string;
  readonly basePath = `/${stageName}/${versionPath}`;
  readonly domainName: string;
  readonly accessLogs: LogGroup;
  readonly errors: Alarm;
  private readonly api: GatewayRestApi;
  /** Without this role, each function would need a resource for each method that may call it. */
  private readonly callerRole: ServiceRole;

  constructor(scope: Construct, id: string, platform: Platform, webServer: WebServer | undefined) {
    super(scope, id);
    const { alarms, settings, trust } = platform;
    const { corsOrigins, domain, firewall } = settings;
    // A distribution has the custom domain and the firewall's rules, and adds the CORS headers.
    const isAlone = trust.originSecrets === undefined;
    const corsOrigin = isAlone ? corsOrigins[0] : undefined;
    this.callerRole = new ServiceRole(this, 'CallerRole', 'apigateway.amazonaws.com');
    this.accessLogs = new LogGroup(this, 'AccessLogs', logsOf(settings));
    pinLogicalId(this.accessLogs, 'GatewayAccessLogs');
    const authorizer = this.createAuthorizingFunction(platform);
    // The gateway caches results by authorizer. If it calls a web function, the authorizers have other ids, so that
    // every result that allows a request has a signed caller.
    const prefix = webServer === undefined ? '' : 'Signing';
    const authorizerFor = (id: string, header: string) =>
      new RequestAuthorizer(this, prefix + id, {
        handler: authorizer.alias,
        assumeRole: this.roleFor(authorizer),
        identitySources: [IdentitySource.header(header)],
        resultsCacheTtl: Duration.seconds(settings.authorizerCacheSeconds),
      });
    const api = this.createApi(settings, authorizerFor('Authorizer', dialects.service.keyHeader));
    this.api = api;
    const openAiAuthorizer = authorizerFor('OpenAiAuthorizer', dialects.openai.keyHeader);
    const handlerOf = (name: RouteName) => this.handlerOf(name, platform, corsOrigin);
    const resources = this.addRoutes(handlerOf, openAiAuthorizer, webServer);
    // A deployment is a copy of the gateway. If the endpoint changes, a new deployment must replace the old one.
    if (webServer !== undefined) api.latestDeployment?.addToLogicalId({ endpoint: webServer.endpointId });
    if (corsOrigins.length > 0) for (const resource of resources) addPreflight(resource, corsOrigin);
    addGatewayResponses(api, corsOrigin);
    if (isAlone && domain !== undefined) this.attachDomain(domain);
    if (firewall !== undefined) this.attachFirewall(firewall, trust.originSecrets);
    this.baseAddress =
      isAlone && domain !== undefined
        ? `https://${domain.name}${this.basePath}`
        : api.urlForPath(`/${versionPath}`);
    const { region, urlSuffix } = Stack.of(this);
    this.domainName = `${api.restApiId}.execute-api.${region}.${urlSuffix}`;
    this.errors = watchGateway(alarms, this);
    watchThrottledRequests(alarms, this);
    watchKeys(alarms);
  }

  private createAuthorizingFunction(platform: Platform): ServiceFunction {
    return platform.task(
      'authorize-request',
      {
        description: 'Checks the API key of every request',
        // A client should not wait longer for a rejection.
        timeoutSeconds: 10,
        throttlesUnseen: true,
      },
      platform.data(gets, { UpdateItem: ['apiKeys'] }),
      platform.stageLimits,
      platform.trust.signsCallers,
    );
  }

  private handlerOf(name: RouteName, platform: Platform, corsOrigin: string | undefined): ServiceFunction {
    const handler =
      platform.functions.get(name) ?? platform.routes('Chat')(name, platform.data(gets, limited));
    if (corsOrigin !== undefined) handler.addEnvironment(variables.corsOrigin, corsOrigin);
    return handler;
  }

  graphs = () => [
    graph('Requests by route', { left: [everyServiceMetric(this, 'requests', 'route')] }),
    graph('Errors by code', { left: [everyServiceMetric(this, 'errors', 'error_code')] }),
    graph('Responses of the gateway', {
      left: [
        this.metricRequests({ label: 'all' }),
        this.api.metricClientError({ statistic: 'Sum', label: '4xx' }),
        this.metricServerErrors({ label: '5xx' }),
      ],
    }),
  ];

  metricRequests(options: MetricOptions): Metric {
    return this.api.metricCount(options);
  }

  metricServerErrors(options: MetricOptions): Metric {
    return this.api.metricServerError({ statistic: 'Sum', ...options });
  }

  private attachDomain(domain: CustomDomain): void {
    const name = new DomainName(this, 'Domain', {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
      mapping: this.api as IRestApi,
      // The path is the same at the gateway's own address, so links are correct at both.
      basePath: stageName,
    });
    pointDomain(this, domain, new ApiGatewayDomain(name), { ipv6: false });
  }

  private attachFirewall(firewall: FirewallSettings, originSecrets: OriginSecrets | undefined): void {
    const { attrArn } =
      originSecrets === undefined
        ? new Firewall(this, 'Firewall', { firewall, inFrontOf: 'gateway' })
        : new OriginFirewall(this, 'OriginFirewall', { firewall, originSecrets });
    const { stageArn } = this.api.deploymentStage;
    new CfnWebACLAssociation(this, 'FirewallOfStage', { resourceArn: stageArn, webAclArn: attrArn });
  }

  /** Returns the resources that pages in browsers may call. */
  private addRoutes(
    handlerOf: (route: RouteName) => ServiceFunction,
    openAiAuthorizer: RequestAuthorizer,
    webServer: WebServer | undefined,
  ): Set<IResource> {
    const invocationOf = (route: Route, handler: ServiceFunction) =>
      invoke(route, handler, this.roleFor(handler));
    const resources = new Set<IResource>();
    for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
      const isOpenAi = dialectOf(route) === dialects.openai;
      const authorizer = isOpenAi ? { authorizer: openAiAuthorizer } : {};
      const isForwarded = webServer !== undefined && isChatRoute(name);
      const integration = isForwarded ? forward(route, webServer) : invocationOf(route, handlerOf(name));
      for (const path of pathsOf(route)) {
        const resource = this.api.root.resourceForPath(versionPath + path);
        resource.addMethod(route.method, integration, {
          ...authorizer,
          ...(isForwarded && { requestParameters: pathOf(route) }),
        });
        // The OpenAI-compatible routes are only for servers, whatever `corsOrigins` says.
        if (!isOpenAi) resources.add(resource);
      }
    }
    return resources;
  }

  private roleFor(handler: ServiceFunction): IRole {
    this.callerRole.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: [handler.aliasByName.functionArn],
      }),
    );
    // Without this, CDK would add a policy of its own to the role of an authorizer.
    return this.callerRole.withoutPolicyUpdates();
  }

  private createApi(settings: Settings, authorizer: RequestAuthorizer): GatewayRestApi {
    const api = new GatewayRestApi(this, 'Gateway', {
      // The metrics have this name as a dimension. CDK's default name would be the same in every stage.
      restApiName: Stack.of(this).stackName,
      description: 'Chats with published agents',
      // A Regional endpoint closes an idle stream after 5 minutes, an edge-optimized one after 30 s.
      endpointTypes: [EndpointType.REGIONAL],
      binaryMediaTypes: ['multipart/form-data'],
      cloudWatchRole: true,
      defaultMethodOptions: { authorizer },
      deployOptions: {
        stageName,
        accessLogDestination: new LogGroupLogDestination(this.accessLogs),
        accessLogFormat: AccessLogFormat.custom(JSON.stringify(accessLogFields)),
        loggingLevel: MethodLoggingLevel.ERROR,
        // API Gateway applies these limits to each method separately.
        throttlingRateLimit: settings.gatewayRequestsPerSecond,
        throttlingBurstLimit: gatewayBurst(settings),
        // A data trace would log the messages of requests.
        dataTraceEnabled: false,
        tracingEnabled: true,
      },
    });
    // A new gateway would have another address.
    pinLogicalId(api, 'Gateway');
    // CDK's own output lacks /v1.
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

/**
 * No field is a header, so no key is logged. API Gateway does not escape quotation marks, so no field is a text that
 * may contain them.
 */
const accessLogFields = {
  requestTime: '$context.requestTime',
  requestId: '$context.requestId',
  method: '$context.httpMethod',
  route: '$context.resourcePath',
  status: '$context.status',
  responseBytes: '$context.responseLength',
  responseMilliseconds: '$context.responseLatency',
  integrationMilliseconds: '$context.integrationLatency',
  // Of a Lambda function, the first is the status of the Lambda service, the second the status that the function
  // returned. Of a web function, the second may be Lambda's too.
  invocationStatus: '$context.integration.integrationStatus',
  integrationStatus: '$context.integration.status',
  authorizerStatus: '$context.authorizer.integrationStatus',
  gatewayResponse: '$context.error.responseType',
  sourceAddress: '$context.identity.sourceIp',
  principal: '$context.authorizer.principalId',
};

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
