import {
  AuthorizationType,
  type IResource,
  MockIntegration,
  PassthroughBehavior,
} from 'aws-cdk-lib/aws-apigateway';
import { Validations } from 'aws-cdk-lib/core';
import { allowedHeaders, allowedMethods, corsHeaders } from '#contract/cors.ts';
import { quoted } from './gateway-responses.ts';

/**
 * How long browsers cache a preflight response: ten minutes, so a changed setting takes that long. Chromium's maximum
 * is 2 h.
 */
export const preflightSeconds = 600;

/**
 * Responds to the preflights of browsers, which have no API key.
 * @param origin undefined where a distribution adds the headers
 */
export function addPreflight(resource: IResource, origin: string | undefined): void {
  const headers = Object.entries(origin === undefined ? {} : quoted(preflightHeaders(origin))).map(
    ([name, value]) => [`method.response.header.${name}`, value] as const,
  );
  const method = resource.addMethod(
    'OPTIONS',
    new MockIntegration({
      requestTemplates: { 'application/json': '{"statusCode":204}' },
      // API Gateway rejects a request with another Content-Type as a client error. If it passed the body through, the
      // mock would fail with a 500, which the alarms count. A preflight has no Content-Type.
      passthroughBehavior: PassthroughBehavior.NEVER,
      integrationResponses: [{ statusCode: '204', responseParameters: Object.fromEntries(headers) }],
    }),
    {
      // Without this the method has the API's authorizer. The library accepts "no authorizer" only in this form.
      authorizer: { authorizerId: '', authorizationType: AuthorizationType.NONE },
      methodResponses: [
        { statusCode: '204', responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) },
      ],
    },
  );
  Validations.of(method).acknowledge({
    id: 'AwsSolutions-APIG4',
    reason: 'Browsers send preflights without an API key; the response only says what they may send.',
  });
}

const preflightHeaders = (origin: string): Record<string, string> => ({
  ...corsHeaders(origin),
  'Access-Control-Allow-Methods': allowedMethods.join(', '),
  'Access-Control-Allow-Headers': allowedHeaders.join(', '),
  'Access-Control-Max-Age': String(preflightSeconds),
});
