import {
  AwsIntegration,
  HttpIntegration,
  type Integration,
  ResponseTransferMode,
} from 'aws-cdk-lib/aws-apigateway';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Duration } from 'aws-cdk-lib/core';
import type { Route } from '#contract/routes.ts';
import { gatewayHeaders, signedCallerField } from '#runtime/environment/variables.ts';
import type { ServiceFunction } from './service-function.ts';
import type { WebServer } from './web-server.ts';

/** API Gateway's maximum for a buffered response, unless AWS has raised the account's quota. */
const bufferedLimitSeconds = 29;

/** API Gateway's maximum for a streamed response. */
const streamedLimitSeconds = 15 * 60;

/** The gateway's timeout includes a cold start, the function's does not. */
const coldStartSeconds = 10;

const streamedTimeout = ({ timeoutSeconds }: Route): Duration =>
  Duration.seconds(Math.min(timeoutSeconds + coldStartSeconds, streamedLimitSeconds));

/** CDK's `LambdaIntegration` would also add a permission, which is not needed with a role. */
export function invoke(route: Route, handler: ServiceFunction, credentialsRole: IRole): Integration {
  const isStreamed = route.transfer === 'streamed';
  const path = isStreamed
    ? `2021-11-15/functions/${handler.alias.functionArn}/response-streaming-invocations`
    : `2015-03-31/functions/${handler.alias.functionArn}/invocations`;
  return new AwsIntegration({
    service: 'lambda',
    proxy: true,
    path,
    options: {
      credentialsRole,
      ...(isStreamed && {
        responseTransferMode: ResponseTransferMode.STREAM,
        timeout: streamedTimeout(route),
      }),
    },
  });
}

export function forward(route: Route, { domainName }: WebServer): HttpIntegration {
  const isStreamed = route.transfer === 'streamed';
  const headers = {
    [gatewayHeaders.signedCaller]: `context.authorizer.${signedCallerField}`,
    [gatewayHeaders.requestId]: 'context.requestId',
    [gatewayHeaders.extendedRequestId]: 'context.extendedRequestId',
  };
  const pathSources = Object.fromEntries(
    Object.keys(route.parameters.shape).map((name) => [name, `method.request.path.${name}`]),
  );
  return new HttpIntegration(`https://${domainName}${route.path}`, {
    httpMethod: route.method,
    options: {
      requestParameters: {
        ...prefixed('integration.request.header.', headers),
        ...prefixed('integration.request.path.', pathSources),
      },
      ...(isStreamed && { responseTransferMode: ResponseTransferMode.STREAM }),
      timeout: isStreamed ? streamedTimeout(route) : Duration.seconds(bufferedLimitSeconds),
    },
  });
}

const prefixed = (prefix: string, parameters: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(parameters).map(([name, source]) => [prefix + name, source]));

export const pathOf = ({ parameters }: Route): Record<string, boolean> =>
  Object.fromEntries(Object.keys(parameters.shape).map((name) => [`method.request.path.${name}`, true]));
