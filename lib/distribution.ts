import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
  CachePolicy,
  Distribution as CloudFrontDistribution,
  Function as CloudFrontFunction,
  FunctionCode,
  FunctionEventType,
  FunctionRuntime,
  HttpVersion,
  OriginRequestPolicy,
  PriceClass,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { CloudFrontTarget } from 'aws-cdk-lib/aws-route53-targets';
import {
  Aws,
  CfnCondition,
  CfnOutput,
  type CfnResource,
  Duration,
  Fn,
  Stack,
  Validations,
} from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { allowedHeaders, allowedMethods, exposedHeaders } from '#contract/headers.ts';
import { routes } from '#contract/routes.ts';
import { originSecretHeader, viewerHostHeader } from '#runtime/environment/variables.ts';
import type { Alarms } from './alarms.ts';
import { pointDomain } from './custom-domain.ts';
import { webAclArnOf } from './firewall.ts';
import { preflightSeconds } from './gateway-responses.ts';
import type { Platform } from './platform.ts';
import type { RestApi } from './rest-api.ts';
import { pinLogicalId } from './retention.ts';
import type { Stage } from './stage.ts';
import type { WebServer } from './web-server.ts';

export const distributionIdOutput = 'DistributionId';

/** CloudFront waits so long for the first bytes of an origin's response, and then for each next part. */
const readTimeout = Duration.seconds(120);

/**
 * By default CloudFront caches many errors of GET and HEAD for 10 s. By AWS's guide it does not with the policy
 * CachingDisabled; a cache time of 0 for these statuses makes sure. Other clients would get a cached error, because the
 * cache key contains neither the API key nor the query.
 */
const errorStatuses = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504];

/** Lambda adds these headers to the responses of web functions. They reveal the implementation. */
const platformHeaders = ['lambda-web-error-type', 'lambda-web-logstream', 'lambda-web-request-id'];

/** Passes on the host that the client used: in requests to an origin, `Host` is the origin's name. */
const forwardViewerHost = `function handler(event) {
  var request = event.request;
  request.headers['${viewerHostHeader}'] = { value: request.headers.host.value };
  return request;
}`;

export class Distribution extends Construct {
  readonly baseAddress: string;

  constructor(
    scope: Construct,
    id: string,
    { alarms, settings, trust }: Platform,
    { stage, api, uploads }: { stage: Stage; api: RestApi; uploads: WebServer },
  ) {
    super(scope, id);
    const { corsOrigins, domain, firewall } = settings;
    if (trust.originSecrets === undefined) throw new Error('A distribution needs a secret for its origins');
    const secret = trust.originSecrets.sent.secretValue.unsafeUnwrap();
    const origin = (domainName: string) =>
      // No origin path: the paths that clients request already contain the gateway's stage.
      new HttpOrigin(domainName, {
        customHeaders: { [originSecretHeader]: secret },
        readTimeout,
        keepaliveTimeout: Duration.seconds(60),
      });
    const { region, stackName } = Stack.of(this);
    const code = new CloudFrontFunction(this, 'TellViewerHost', {
      // Names of CloudFront functions are unique in an account. CDK's default name lacks the stage.
      functionName: `${region}-${stackName}-viewer-host`,
      comment: 'Passes the viewer host on to the origins',
      code: FunctionCode.fromInline(forwardViewerHost),
      runtime: FunctionRuntime.JS_2_0,
    });
    const behavior = {
      allowedMethods: AllowedMethods.ALLOW_ALL,
      cachePolicy: CachePolicy.CACHING_DISABLED,
      originRequestPolicy: OriginRequestPolicy.ALL_VIEWER_EXCEPT_HOST_HEADER,
      viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      // Compression might delay streamed responses.
      compress: false,
      functionAssociations: [{ function: code, eventType: FunctionEventType.VIEWER_REQUEST }],
      responseHeadersPolicy: this.createHeadersPolicy(corsOrigins),
    };
    const distribution = new CloudFrontDistribution(this, 'Distribution', {
      comment: 'Chats with published agents, and uploads',
      defaultBehavior: { ...behavior, origin: origin(api.domainName) },
      additionalBehaviors: {
        [api.basePath + routes['upload-file'].path]: { ...behavior, origin: origin(uploads.domainName) },
      },
      errorResponses: errorStatuses.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
      httpVersion: HttpVersion.HTTP2_AND_3,
      priceClass: PriceClass.PRICE_CLASS_ALL,
      ...(firewall !== undefined && { webAclId: webAclArnOf(stage) }),
      ...(domain !== undefined && {
        domainNames: [domain.name],
        certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
        minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2025,
      }),
    });
    // A new distribution would have another address.
    pinLogicalId(distribution, 'Distribution');
    this.baseAddress = `https://${domain?.name ?? distribution.distributionDomainName}${api.basePath}`;
    watchDistribution(alarms, distribution.distributionId);
    new CfnOutput(Stack.of(this), distributionIdOutput, { value: distribution.distributionId });
    if (domain !== undefined) pointDomain(this, domain, new CloudFrontTarget(distribution), { ipv6: true });
    Validations.of(distribution).acknowledge(
      { id: 'AwsSolutions-CFR1', reason: 'The operator decides from which countries clients may come.' },
      {
        id: 'AwsSolutions-CFR2',
        reason: 'Every request needs an API key; a firewall costs money, so the operator decides on it.',
      },
      {
        id: 'AwsSolutions-CFR3',
        reason: 'The gateway and the functions log every request, with its id and without its key.',
      },
      {
        id: 'AwsSolutions-CFR4',
        reason:
          'CloudFront fixes the TLS version of its own domain. A custom domain has a certificate and TLS 1.2.',
      },
    );
  }

  private createHeadersPolicy(corsOrigins: readonly string[]): ResponseHeadersPolicy {
    const { region, stackName } = Stack.of(this);
    return new ResponseHeadersPolicy(this, 'Headers', {
      // Names of response headers policies are unique in an account.
      responseHeadersPolicyName: `${region}-${stackName}-headers`,
      comment: 'Removes headers of Lambda, and says which origins may call from a browser',
      removeHeaders: platformHeaders,
      ...(corsOrigins.length > 0 && corsOf(corsOrigins)),
    });
  }
}

const corsOf = (origins: readonly string[]) => ({
  corsBehavior: {
    accessControlAllowOrigins: [...origins],
    accessControlAllowMethods: allowedMethods,
    accessControlAllowHeaders: allowedHeaders,
    accessControlExposeHeaders: exposedHeaders,
    accessControlMaxAge: Duration.seconds(preflightSeconds),
    // Clients send the API key in a header and never need cookies.
    accessControlAllowCredentials: false,
    originOverride: true,
  },
  // A cache must not give the response for one origin to a page of another.
  customHeadersBehavior: { customHeaders: [{ header: 'Vary', value: 'Origin', override: true }] },
});

/**
 * CloudFront reports its metrics to us-east-1 alone. For a service in another Region, the stack `DistributionAlarms`
 * has the alarm.
 */
export function watchDistribution(alarms: Alarms, distributionId: string): void {
  // CDK's metrics would never have a value: they lack the dimension Region.
  const metricOf = (metricName: string, statistic: string) =>
    new Metric({
      namespace: 'AWS/CloudFront',
      metricName,
      dimensionsMap: { DistributionId: distributionId, Region: 'Global' },
      statistic,
    });
  const alarm = alarms.add('DistributionErrors', {
    summary:
      'CloudFront responds to more than 1 % of the requests with a 5xx status, its own or an origin’s.',
    metric: new MathExpression({
      // Fewer than ten errors in five minutes do not count: at night, one error may be a third of the requests.
      expression: 'IF(rate * requests / 100 < 10, 0, rate)',
      usingMetrics: { rate: metricOf('5xxErrorRate', 'Average'), requests: metricOf('Requests', 'Sum') },
      label: '% of requests',
    }),
    threshold: 1,
    periods: [2, 3],
  });
  const isInMetricsRegion = new CfnCondition(alarms, 'HearsCloudFront', {
    expression: Fn.conditionEquals(Aws.REGION, 'us-east-1'),
  });
  (alarm.node.defaultChild as CfnResource).cfnOptions.condition = isInMetricsRegion;
}
