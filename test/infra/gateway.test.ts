import { describe, expect, test } from 'vitest';
import { errorTable } from '#contract/errors.ts';
import { allowedHeaders, allowedMethods, exposedHeaders } from '#contract/headers.ts';
import { documentedRoutes } from '#contract/routes.ts';
import { openApiDocument } from '#lib/openapi-document.ts';
import { type Resource, synthesize } from './synthesize.ts';

const { resources, resource, template } = synthesize();

const another = {
  settings: { webFunctions: 'none', authorizerCacheSeconds: 0, gatewayRequestsPerSecond: 20 },
};

test.each(['x-api-key', 'Authorization'])(
  'the authorizer of %s is asked with it as its identity, and believed for as long as the setting says',
  (header) => {
    const authorizer = { Type: 'REQUEST', IdentitySource: `method.request.header.${header}` };
    template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      ...authorizer,
      AuthorizerResultTtlInSeconds: 60,
    });
    synthesize(another).template.hasResourceProperties('AWS::ApiGateway::Authorizer', {
      ...authorizer,
      AuthorizerResultTtlInSeconds: 0,
    });
  },
);

describe('what the gateway answers itself', () => {
  const responses = new Map(
    Object.values(resources('AWS::ApiGateway::GatewayResponse')).map(({ Properties }) => [
      Properties.ResponseType,
      {
        status: Properties.StatusCode,
        headers: Properties.ResponseParameters,
        body: JSON.parse(Properties.ResponseTemplates['application/json']),
      },
    ]),
  );
  test.each([...responses.keys()] as string[])(
    '%s has the envelope and the id of the request, and is cached nowhere',
    (type) => {
      const response = responses.get(type);
      expect(response?.body).toEqual({
        data: null,
        message: expect.any(String),
        error_code: expect.any(Number),
      });
      expect(response?.headers).toMatchObject({
        'gatewayresponse.header.x-request-id': 'context.requestId',
        'gatewayresponse.header.Content-Type': "'application/json'",
        'gatewayresponse.header.Cache-Control': "'no-store'",
      });
      const known = Object.values(errorTable).map(({ status, errorCode }) => `${status}/${errorCode}`);
      expect(known).toContain(`${response?.status}/${response?.body.error_code}`);
    },
  );

  // Service tests see the others.
  test.each([
    ['THROTTLED', '429', 10029, 'Rate limit exceeded'],
    ['DEFAULT_4XX', '400', 10006, 'Bad request'],
    ['DEFAULT_5XX', '500', 10005, 'Internal server error, request id $context.requestId'],
  ])('%s is %s/%i', (type, status, errorCode, message) => {
    expect(responses.get(type)).toMatchObject({ status, body: { error_code: errorCode, message } });
  });

  test('who is throttled is told when to come back', () => {
    for (const type of ['THROTTLED', 'QUOTA_EXCEEDED'])
      expect(responses.get(type)?.headers).toMatchObject({ 'gatewayresponse.header.Retry-After': "'1'" });
  });
});

const { Format } = resource('AWS::ApiGateway::Stage').Properties.AccessLogSetting;

test('no trace logs the messages of requests', () => {
  template.hasResourceProperties('AWS::ApiGateway::Stage', {
    MethodSettings: [{ HttpMethod: '*', ResourcePath: '/*', DataTraceEnabled: false }],
  });
});

/**
 * Values that cannot contain a quotation mark. API Gateway writes values unescaped into the access log, so a quotation
 * mark breaks the line's JSON or adds fields to it. Errors of integrations and authorizers, and the path that a client
 * sent, can contain one.
 */
const withoutQuotes = [
  // Numbers, dates and words that API Gateway generates.
  'requestTime',
  'status',
  'responseLength',
  'responseLatency',
  'integrationLatency',
  'integration.status',
  'integration.integrationStatus',
  'authorizer.integrationStatus',
  'error.responseType',
  // The path of the matched resource, not the path that the client sent.
  'resourcePath',
  // A client chooses both, but only from the characters of an HTTP token, which exclude quotes.
  'httpMethod',
  'requestId',
  // The address of the connection, not of a header.
  'identity.sourceIp',
  // The id of an API key, which this service generates.
  'authorizer.principalId',
];

test('no value of the access log can break its JSON', () => {
  const values = Object.values(JSON.parse(Format) as Record<string, string>);
  expect(values.length).toBeGreaterThan(10);
  const safe = withoutQuotes.map((name) => `$context.${name}`);
  expect(values.filter((value) => !safe.includes(value))).toEqual([]);
});

test('every method is throttled, as the settings say', () => {
  const throttled = (rate: number, burst: number) => ({
    MethodSettings: [
      { HttpMethod: '*', ResourcePath: '/*', ThrottlingRateLimit: rate, ThrottlingBurstLimit: burst },
    ],
  });
  template.hasResourceProperties('AWS::ApiGateway::Stage', throttled(1000, 500));
  synthesize(another).template.hasResourceProperties('AWS::ApiGateway::Stage', throttled(20, 10));
});

test('the API is Regional: an edge would cut a stream that is silent for 30 s', () => {
  template.hasResourceProperties('AWS::ApiGateway::RestApi', {
    EndpointConfiguration: { Types: ['REGIONAL'] },
    BinaryMediaTypes: ['multipart/form-data'],
  });
});

const origin = 'https://app.example.com';

type Synthesized = ReturnType<typeof synthesize>;

const methodsOf = ({ resources }: Synthesized, httpMethod: string): Resource[] =>
  Object.values(resources('AWS::ApiGateway::Method')).filter(
    ({ Properties }) => Properties.HttpMethod === httpMethod,
  );

// The OpenAI-compatible routes are not for pages in browsers.
const paths = new Set(documentedRoutes.map(({ path }) => path));

test('every path takes a preflight without a key', () => {
  const preflights = methodsOf(synthesize({ settings: { corsOrigins: [origin] } }), 'OPTIONS');
  expect(preflights).toHaveLength(paths.size);
  for (const { Properties } of preflights) {
    expect(Properties).toMatchObject({ AuthorizationType: 'NONE', Integration: { Type: 'MOCK' } });
    expect(Properties).not.toHaveProperty('AuthorizerId');
  }
});

test.each(['all', 'uploads', 'none'])(
  'without origins nothing is there, with web functions: %s',
  (webFunctions) => {
    const stage = synthesize({ settings: { webFunctions } });
    expect(methodsOf(stage, 'OPTIONS')).toEqual([]);
    expect(JSON.stringify(stage.template.toJSON())).not.toMatch(
      /access-control|AccessControl|CorsConfig|CORS_ORIGIN|ANSWERS_PREFLIGHTS|"Vary"/,
    );
  },
);

describe('the lists cover the contract', () => {
  const operations = Object.values(openApiDocument('1.0.0').paths ?? {}).flatMap((path) =>
    Object.entries(path as Record<string, { parameters?: object[]; responses: object }>),
  );

  test('a page may send what an operation takes', () => {
    expect(allowedMethods).toEqual(
      expect.arrayContaining(operations.map(([method]) => method.toUpperCase())),
    );
    const taken = operations.flatMap(([, { parameters = [] }]) =>
      (parameters as { in: string; name: string }[]).filter(({ in: location }) => location === 'header'),
    );
    expect(allowedHeaders).toEqual(expect.arrayContaining(taken.map(({ name }) => name.toLowerCase())));
  });

  test('a page may read what a response carries', () => {
    const documented = operations.flatMap(([, { responses }]) =>
      Object.values(responses as Record<string, { headers?: object }>).flatMap(({ headers = {} }) =>
        Object.keys(headers).map((name) => name.toLowerCase()),
      ),
    );
    expect([...new Set(documented)].toSorted()).toEqual(exposedHeaders.toSorted());
  });
});
