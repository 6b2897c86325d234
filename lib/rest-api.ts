import {
  AccessLogFormat,
  DomainName,
  EndpointType,
  RestApi as GatewayRestApi,
  IdentitySource,
  type IResource,
  type IRestApi,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  RequestAuthorizer,
  ResponseTransferMode,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Metric, MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { type CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { type Route, type RouteName, routes } from '#contract/routes.ts';
import { type CustomDomain, pointDomain } from './custom-domain.ts';
import { Firewall, type FirewallSettings, OriginFirewall } from './firewall.ts';
import { addGatewayResponses } from './gateway-responses.ts';
import { pinLogicalId } from './logical-id.ts';
import { addPreflight } from './preflights.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';

const stageName = 'api';
const versionPath = 'v1';

/** The longest that API Gateway waits for the end of a streamed answer. */
const streamedLimitSeconds = 15 * 60;

/** Room for a cold start, which the gateway's clock counts and the function's does not. */
const coldStartSeconds = 10;

/** The gateway: every route of the table, behind one authorizer, answering errors in the envelope of the service. */
export class RestApi extends Construct {
  /** Ends in /api/v1. */
  readonly baseAddress: string;
  readonly basePath = `/${stageName}/${versionPath}`;
  readonly domainName: string;
  private readonly api: GatewayRestApi;

  constructor(
    scope: Construct,
    id: string,
    props: {
      authorizer: ServiceFunction;
      handlerOf: (route: RouteName) => ServiceFunction;
      /** Its own name, where no distribution has it. */
      domain: CustomDomain | undefined;
      firewall: FirewallSettings | undefined;
      /** Of the distribution in front, which then has the firewall's rules. */
      originSecret: Secret | undefined;
      /** The one that responses name, where no distribution adds the headers. */
      corsOrigin: string | undefined;
      settings: Settings;
    },
  ) {
    super(scope, id);
    const api = this.createApi(props.settings, props.authorizer);
    this.api = api;
    const resources = new Set<IResource>();
    for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
      const resource = api.root.resourceForPath(versionPath + route.path);
      resource.addMethod(route.method, integrate(route, props.handlerOf(name)));
      resources.add(resource);
    }
    if (props.settings.corsOrigins.length > 0)
      for (const resource of resources) addPreflight(resource, props.corsOrigin);
    addGatewayResponses(api, props.corsOrigin);
    if (props.domain !== undefined) this.takeDomain(api, props.domain);
    if (props.firewall !== undefined) this.protect(api, this.firewallOf(props.firewall, props.originSecret));
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

  /** Answers of 500 and above. */
  metricServerErrors(options: MetricOptions): Metric {
    return this.api.metricServerError({ statistic: 'Sum', ...options });
  }

  metricClientErrors(options: MetricOptions): Metric {
    return this.api.metricClientError({ statistic: 'Sum', ...options });
  }

  private takeDomain(api: GatewayRestApi, domain: CustomDomain): void {
    const name = new DomainName(this, 'Domain', {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
      // The library's classes and interfaces disagree under exactOptionalPropertyTypes.
      mapping: api as IRestApi,
      // As at the gateway's own address, so that links are right at both.
      basePath: stageName,
    });
    pointDomain(this, domain, new ApiGatewayDomain(name), { ipv6: false });
  }

  private firewallOf(firewall: FirewallSettings, originSecret: Secret | undefined): CfnWebACL {
    return originSecret === undefined
      ? new Firewall(this, 'Firewall', { firewall, inFrontOf: 'gateway' })
      : new OriginFirewall(this, 'OriginFirewall', { firewall, originSecret });
  }

  private protect(api: GatewayRestApi, { attrArn }: CfnWebACL): void {
    new CfnWebACLAssociation(this, 'FirewallOfStage', {
      resourceArn: api.deploymentStage.stageArn,
      webAclArn: attrArn,
    });
  }

  private createApi(settings: Settings, authorizer: ServiceFunction): GatewayRestApi {
    const logs = {
      retention: settings.logRetentionDays,
      removalPolicy: removalPolicyOf(settings),
    };
    const accessLogs = new LogGroup(this, 'AccessLogs', logs);
    pinLogicalId(accessLogs, 'GatewayAccessLogs');
    const api = new GatewayRestApi(this, 'Gateway', {
      // Its metrics are found by this name: the library's own would be the same in every stage.
      restApiName: Stack.of(this).stackName,
      description: 'Chats with published agents',
      // An edge-optimised endpoint cuts a stream that is silent for 30 s; a Regional one after five minutes.
      endpointTypes: [EndpointType.REGIONAL],
      binaryMediaTypes: ['multipart/form-data'],
      cloudWatchRole: true,
      defaultMethodOptions: {
        authorizer: new RequestAuthorizer(this, 'Authorizer', {
          handler: authorizer.alias,
          identitySources: [IdentitySource.header('x-api-key')],
          resultsCacheTtl: Duration.seconds(settings.authorizerCacheSeconds),
        }),
      },
      deployOptions: {
        stageName,
        accessLogDestination: new LogGroupLogDestination(accessLogs),
        accessLogFormat: accessLogFormat(),
        loggingLevel: MethodLoggingLevel.ERROR,
        // Each method has a bucket of its own with these.
        throttlingRateLimit: settings.gatewayRequestsPerSecond,
        throttlingBurstLimit: settings.gatewayBurst,
        // Would log whole requests, messages and keys among them.
        dataTraceEnabled: false,
        // With it functions' traces begin where the request came in.
        tracingEnabled: true,
      },
    });
    // The address of clients, where no distribution is: were it made anew, it would be another one.
    pinLogicalId(api, 'Gateway');
    // The base address is the output of the stack; this one lacks /v1.
    api.node.tryRemoveChild('Endpoint');
    // API Gateway would make this group itself, and keep its lines for ever.
    const executionLogs = new LogGroup(this, 'ExecutionLogs', {
      logGroupName: `API-Gateway-Execution-Logs_${api.restApiId}/${stageName}`,
      ...logs,
    });
    pinLogicalId(executionLogs, 'GatewayExecutionLogs');
    api.deploymentStage.node.addDependency(executionLogs);
    acknowledgeRules(api);
    return api;
  }
}

function integrate(route: Route, handler: ServiceFunction): LambdaIntegration {
  if (route.transfer === 'buffered') return new LambdaIntegration(handler.alias, { allowTestInvoke: false });
  return new LambdaIntegration(handler.alias, {
    allowTestInvoke: false,
    responseTransferMode: ResponseTransferMode.STREAM,
    timeout: Duration.seconds(Math.min(route.timeoutSeconds + coldStartSeconds, streamedLimitSeconds)),
  });
}

/**
 * Who called what, and how it went. No header is among it, so no key, and no value that can have a quotation mark, since
 * API Gateway escapes none: messages of errors are in the execution log.
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
      // Lambda's own status, then the function's.
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
      reason: 'Handlers validate every request against the route table and say which field is wrong.',
    },
    {
      id: 'AwsSolutions-APIG3',
      reason:
        'Every request needs an API key; a firewall is chosen and paid for by whoever operates the stack.',
    },
    {
      id: 'AwsSolutions-COG4',
      reason: 'Clients have API keys, which the request authorizer of every method checks.',
    },
    {
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      reason: 'API Gateway refuses an account role without every permission of this policy.',
    },
  );
}
