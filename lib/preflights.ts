import {
  AuthorizationType,
  type IResource,
  MockIntegration,
  PassthroughBehavior,
} from 'aws-cdk-lib/aws-apigateway';
import { Validations } from 'aws-cdk-lib/core';
import { allowedHeaders, allowedMethods, corsHeaders } from '#contract/cors.ts';
import { quoted } from './gateway-responses.ts';

/** Browsers ask again after ten minutes: that long a change of the setting takes. Chromium believes two hours at most. */
export const preflightSeconds = 600;

/**
 * Answers the preflights of browsers, which have no API key.
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
      // Any other Content-Type would be a 500, which alarms count. A preflight has none.
      passthroughBehavior: PassthroughBehavior.NEVER,
      integrationResponses: [{ statusCode: '204', responseParameters: Object.fromEntries(headers) }],
    }),
    {
      // Else the API's own: the library takes none only in this form.
      authorizer: { authorizerId: '', authorizationType: AuthorizationType.NONE },
      methodResponses: [
        { statusCode: '204', responseParameters: Object.fromEntries(headers.map(([name]) => [name, true])) },
      ],
    },
  );
  Validations.of(method).acknowledge({
    id: 'AwsSolutions-APIG4',
    reason: 'Browsers send preflights without an API key; the response says nothing but what they may send.',
  });
}

const preflightHeaders = (origin: string): Record<string, string> => ({
  ...corsHeaders(origin),
  'Access-Control-Allow-Methods': allowedMethods.join(', '),
  'Access-Control-Allow-Headers': allowedHeaders.join(', '),
  'Access-Control-Max-Age': String(preflightSeconds),
});
