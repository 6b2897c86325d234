import { describe, expect, it, test } from 'vitest';
import { functionNames, webFunctionNames } from '#lib/bundles/function-bundles.ts';
import { chatRoutes } from '#lib/chat-routes.ts';
import { originSecretHeader, variables, viewerHostHeader } from '#runtime/environment/variables.ts';
import { synthesize } from './synthesize.ts';

const { template, resource, resources, environments } = synthesize({ settings: { webFunctions: 'all' } });

const { DistributionConfig: config } = resource('AWS::CloudFront::Distribution').Properties;
/** The id of a web function's construct, from a logical id. */
const nameOf = (logicalId: string): string => logicalId.replace(/Server.*$/, '');

test('they are on unless a stage turns them off, and then nothing of them is there', () => {
  const byDefault = synthesize({ settings: {} });
  expect(Object.keys(byDefault.resources('AWS::CloudFront::Distribution'))).toHaveLength(1);
  expect(Object.keys(byDefault.resources('AWS::Lambda::WebFunction')).map(nameOf).toSorted()).toEqual([
    'Chats',
    'Uploads',
  ]);
  const plain = synthesize({ settings: { webFunctions: 'none' } });
  const types = Object.values(plain.template.toJSON().Resources as Record<string, { Type: string }>);
  expect(types.map(({ Type }) => Type).filter((type) => /CloudFront|WebFunction|Custom/.test(type))).toEqual(
    [],
  );
  for (const name of [variables.originSecrets, variables.callerSecret, 'AWS/Lambda/Web', 'Strangers'])
    expect(JSON.stringify(plain.template.toJSON())).not.toContain(name);
});

test('both ways keep nothing, gather nothing, pass all but the host, and are encrypted', () => {
  for (const behavior of [...config.CacheBehaviors, config.DefaultCacheBehavior]) {
    expect(behavior).toMatchObject({
      AllowedMethods: expect.arrayContaining(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']),
      CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
      OriginRequestPolicyId: 'b689b0a8-53d0-40ab-baf2-68738e2966ac',
      ViewerProtocolPolicy: 'https-only',
      Compress: false,
    });
    const origin = config.Origins.find(({ Id }: { Id: string }) => Id === behavior.TargetOriginId);
    expect(origin.CustomOriginConfig).toMatchObject({
      OriginProtocolPolicy: 'https-only',
      OriginSSLProtocols: ['TLSv1.2'],
      OriginReadTimeout: 120,
    });
    expect(origin).not.toHaveProperty('OriginPath');
    const [header] = origin.OriginCustomHeaders;
    expect(header.HeaderName).toBe(originSecretHeader);
    expect(JSON.stringify(header)).toMatch(/resolve:secretsmanager:.*OriginSecret.*SecretString/);
  }
});

test('no error is cached, of any status whose caching CloudFront lets one configure', () => {
  // "Error codes" of DownloadDistValuesErrorPages.html and creating-custom-error-pages.html in CloudFront's developer
  // guide. CloudFront also caches 410 by default, unless the origin forbids it, as ours does.
  const configurable = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504];
  expect(config.CustomErrorResponses).toEqual(
    // Without a custom error page, CloudFront passes the origin's response unchanged.
    configurable.map((ErrorCode) => ({ ErrorCode, ErrorCachingMinTTL: 0 })),
  );
});

test('origins are told which address was asked for, whatever a viewer claims', () => {
  const { FunctionCode, FunctionConfig } = resource('AWS::CloudFront::Function').Properties;
  expect(FunctionConfig).toMatchObject({ Runtime: 'cloudfront-js-2.0' });
  const handler = new Function(`${FunctionCode}; return handler;`)() as (event: object) => unknown;
  const headers = { host: { value: 'viewer.example' }, [viewerHostHeader]: { value: 'evil.example' } };
  expect(handler({ request: { headers } })).toEqual({
    headers: { ...headers, [viewerHostHeader]: { value: 'viewer.example' } },
  });
});

describe.each([
  ['Chats', 'chats'],
  ['Uploads', 'uploads'],
])('the web function %s', (id, name) => {
  const idOf = (type: string): string => {
    const [found = '', ...others] = Object.keys(resources(`AWS::Lambda::${type}`)).filter((key) =>
      key.startsWith(id),
    );
    expect(others).toEqual([]);
    return found;
  };

  test('gives all its parts its name, which tells Region and stage, and never its ARN', () => {
    const types = ['WebFunction', 'WebFunctionRevision', 'WebFunctionEndpoint'];
    // With an ARN, CloudFormation creates the resources, but then cannot read the endpoint's domain name.
    for (const type of types)
      expect([type, resource(`AWS::Lambda::${type}`, id).Properties.FunctionName]).toEqual([
        type,
        // The Region makes the name unique in all Regions of the account.
        { 'Fn::Join': ['', [{ Ref: 'AWS::Region' }, `-agent-service-production-${name}`]] },
      ]);
    const [functionId = '', revisionId = '', endpointId = ''] = types.map(idOf);
    // A plain name is not a reference, so DependsOn has to give the order.
    const { Resources } = template.toJSON();
    expect(Resources[revisionId].DependsOn).toContain(functionId);
    expect(Resources[endpointId].DependsOn).toEqual(expect.arrayContaining([functionId, revisionId]));
  });

  test('names no other entry point than index.js, the default, and sets no variable that Lambda reserves', () => {
    expect(Object.keys(environments.get(id) ?? {}).filter((key) => key.startsWith('AWS_'))).toEqual([]);
  });
});

test('the endpoints and environments of web functions are as the settings say', () => {
  const [requestsPerEnvironment, uploads] = [33, 32];
  const stage = synthesize({
    settings: { webRequestsPerSecond: 0, webEnvironments: 2, requestsPerEnvironment },
  });
  const atOnce = (id: string) => {
    const { ServiceConfig } = stage.resource('AWS::Lambda::WebFunctionRevision', id).Properties;
    return ServiceConfig.MaxConcurrencyPerEnvironment;
  };
  expect([atOnce('Chats'), atOnce('Uploads')]).toEqual([requestsPerEnvironment, uploads]);
});

test.each([{ webFunctions: 'all' }, { webFunctions: 'uploads', bothEntryPoints: true }])(
  'with %j, neither the gateway nor CloudFront gets the value of the secret of callers',
  (settings) => {
    const text = JSON.stringify(synthesize({ settings }).template.toJSON());
    expect(text).toContain('CallerSecret');
    expect(text).not.toMatch(/resolve:secretsmanager:[^}]*CallerSecret/);
  },
);

test('every function, also one of the library, logs into a group of the template, which forgets', () => {
  const functions = Object.entries(resources('AWS::Lambda::Function'));
  // The library's functions empty buckets, and copy the code of each web function.
  expect(functions).toHaveLength(functionNames.length - chatRoutes.length + 1 + webFunctionNames.length);
  const groups = resources('AWS::Logs::LogGroup');
  for (const [id, { Properties }] of functions) {
    expect([id, Object.keys(groups)]).toEqual([
      id,
      expect.arrayContaining([Properties.LoggingConfig?.LogGroup.Ref]),
    ]);
  }
  for (const { Properties } of Object.values(groups))
    expect(Properties).toMatchObject({ RetentionInDays: 30 });
});

type Stage = ReturnType<typeof synthesize>;

const generation = (originSecretGeneration: number): Stage =>
  synthesize({ settings: { firewall: {}, authorizerCacheSeconds: 300, originSecretGeneration } });

/** Logical ids of the distribution's secrets that a part of the template names, without the library's hash. */
const secretsIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"(OriginSecret\d*?)[0-9A-F]{8}"/g)].map(([, id = '']) => id);

/** The value that each origin gets. */
function sentBy({ resource }: Stage): string[] {
  const { Origins } = resource('AWS::CloudFront::Distribution').Properties.DistributionConfig;
  return Origins.flatMap(({ OriginCustomHeaders }: { OriginCustomHeaders: unknown }) =>
    secretsIn(OriginCustomHeaders),
  );
}

/** The values that each part of the template accepts: the firewall of the gateway, functions and web functions. */
function acceptedBy({ environments, resources }: Stage): Record<string, string[]> {
  const functions = [...environments]
    .filter(([, set]) => variables.originSecrets in set)
    .map(([id, set]) => [id, secretsIn(set[variables.originSecrets])] as const);
  const firewalls = Object.entries(resources('AWS::WAFv2::WebACL')).map(
    ([id, { Properties }]) => [id, secretsIn(Properties.Rules)] as const,
  );
  return Object.fromEntries([...functions, ...firewalls]);
}

describe('the secret of the distribution', () => {
  it.each([
    [1, 'OriginSecret', ['OriginSecret', 'OriginSecret2']],
    [2, 'OriginSecret2', ['OriginSecret2', 'OriginSecret', 'OriginSecret3']],
    [3, 'OriginSecret3', ['OriginSecret3', 'OriginSecret2', 'OriginSecret4']],
  ])('of generation %d is sent, and its neighbours are accepted as well', (number, sent, accepted) => {
    const stage = generation(number);
    expect(sentBy(stage)).toEqual([sent, sent]);
    const all = acceptedBy(stage);
    // Four functions that make links, the web function of uploads, and the firewall.
    expect(Object.keys(all)).toHaveLength(6);
    for (const [id, secrets] of Object.entries(all)) expect(secrets, id).toEqual(accepted);
    for (const [role, all] of stage.statements)
      expect([[], accepted.toSorted()], role).toContainEqual(secretsIn(all).toSorted());
    const created = Object.keys(stage.resources('AWS::SecretsManager::Secret')).map((id) => secretsIn([id]));
    expect(created.flat().toSorted()).toEqual(accepted.toSorted());
  });
});

it('of callers is used by functions that know how long the gateway caches their signatures', () => {
  for (const id of ['AuthorizeRequest', 'Chats'])
    expect(generation(1).environments.get(id)).toMatchObject({ [variables.authorizerCacheSeconds]: '300' });
});
