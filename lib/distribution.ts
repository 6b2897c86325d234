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
import { CloudFrontTarget } from 'aws-cdk-lib/aws-route53-targets';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { allowedHeaders, allowedMethods, exposedHeaders } from '#contract/cors.ts';
import { originSecretHeader, viewerHostHeader } from '#runtime/environment/variables.ts';
import { type CustomDomain, pointDomain } from './custom-domain.ts';
import { pinLogicalId } from './logical-id.ts';
import { preflightSeconds } from './preflights.ts';

/** The longest that CloudFront waits for an origin to begin, or to go on with, an answer. */
const readTimeout = Duration.seconds(120);

/**
 * Every status whose caching CloudFront lets one configure. Unless told otherwise it keeps the errors of GET and HEAD for
 * 10 s, whatever the cache policy says, and of most statuses although `no-store` forbids it, for whoever asks for the
 * same path: its key has neither the API key nor the query.
 */
const errorStatuses = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504];

/** Tells origins which address was asked for: they themselves are called by their own. */
const forwardViewerHost = `function handler(event) {
  var request = event.request;
  request.headers['${viewerHostHeader}'] = { value: request.headers.host.value };
  return request;
}`;

/** One address for the gateway and, under the path of uploads, for the server that takes large ones. Nothing is cached. */
export class Distribution extends Construct {
  readonly domainName: string;
  readonly distributionId: string;

  constructor(
    scope: Construct,
    id: string,
    props: {
      apiDomainName: string;
      uploads: { domainName: string; path: string };
      originSecret: Secret;
      corsOrigins: readonly string[];
      domain: CustomDomain | undefined;
      webAclArn: string | undefined;
    },
  ) {
    super(scope, id);
    const origin = (domainName: string) =>
      // Without a path: the gateway's stage is part of the path that viewers ask for.
      new HttpOrigin(domainName, {
        customHeaders: { [originSecretHeader]: props.originSecret.secretValue.unsafeUnwrap() },
        readTimeout,
        keepaliveTimeout: Duration.seconds(60),
      });
    const { region, stackName } = Stack.of(this);
    const code = new CloudFrontFunction(this, 'TellViewerHost', {
      // The library's own name would be the same in every stage, and these names are the account's.
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
      // Would gather what is streamed.
      compress: false,
      functionAssociations: [{ function: code, eventType: FunctionEventType.VIEWER_REQUEST }],
      ...(props.corsOrigins.length > 0 && {
        responseHeadersPolicy: this.createCorsPolicy(props.corsOrigins),
      }),
    };
    const distribution = new CloudFrontDistribution(this, 'Distribution', {
      comment: 'Chats with published agents, and uploads',
      defaultBehavior: { ...behavior, origin: origin(props.apiDomainName) },
      additionalBehaviors: {
        [props.uploads.path]: { ...behavior, origin: origin(props.uploads.domainName) },
      },
      errorResponses: errorStatuses.map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
      httpVersion: HttpVersion.HTTP2_AND_3,
      priceClass: PriceClass.PRICE_CLASS_ALL,
      ...(props.webAclArn !== undefined && { webAclId: props.webAclArn }),
      ...(props.domain !== undefined && {
        domainNames: [props.domain.name],
        certificate: Certificate.fromCertificateArn(this, 'Certificate', props.domain.certificateArn),
        minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2025,
      }),
    });
    // The address of clients: were it made anew, it would be another one.
    pinLogicalId(distribution, 'Distribution');
    this.domainName = props.domain?.name ?? distribution.distributionDomainName;
    this.distributionId = distribution.distributionId;
    if (props.domain !== undefined)
      pointDomain(this, props.domain, new CloudFrontTarget(distribution), { ipv6: true });
    Validations.of(distribution).acknowledge(
      { id: 'AwsSolutions-CFR1', reason: 'Where clients may be is for whoever operates the stack to say.' },
      {
        id: 'AwsSolutions-CFR2',
        reason:
          'Every request needs an API key; a firewall is chosen and paid for by whoever operates the stack.',
      },
      {
        id: 'AwsSolutions-CFR3',
        reason: 'The gateway and the functions log every request, with its id and without its key.',
      },
      {
        id: 'AwsSolutions-CFR4',
        reason:
          'CloudFront lets nobody choose for its own domain; who has one gives it a certificate and TLS 1.2.',
      },
    );
  }

  private createCorsPolicy(origins: readonly string[]): ResponseHeadersPolicy {
    const { region, stackName } = Stack.of(this);
    return new ResponseHeadersPolicy(this, 'Cors', {
      // Names are the account's, as those of functions.
      responseHeadersPolicyName: `${region}-${stackName}-cors`,
      comment: 'Says which origins may call from a browser',
      corsBehavior: {
        accessControlAllowOrigins: [...origins],
        accessControlAllowMethods: allowedMethods,
        accessControlAllowHeaders: allowedHeaders,
        accessControlExposeHeaders: exposedHeaders,
        accessControlMaxAge: Duration.seconds(preflightSeconds),
        // API keys are headers: nothing here needs cookies.
        accessControlAllowCredentials: false,
        originOverride: true,
      },
      // CloudFront documents no Vary for its CORS headers; its custom headers are on every response.
      customHeadersBehavior: { customHeaders: [{ header: 'Vary', value: 'Origin', override: true }] },
    });
  }
}
