import { describe, expect, test } from 'vitest';
import { allowedHeaders, allowedMethods, exposedHeaders } from '#contract/headers.ts';
import { documentedRoutes } from '#contract/routes.ts';
import { openApiDocument } from '#lib/openapi-document.ts';
import { type Resource, synthesize } from './synthesize.ts';

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
