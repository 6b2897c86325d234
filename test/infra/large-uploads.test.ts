import { expect, test } from 'vitest';
import { errorTable } from '#contract/errors.ts';
import { routes } from '#contract/routes.ts';
import { functionNames } from '#lib/function-table.ts';
import { originSecretHeader, variables, viewerHostHeader } from '#runtime/environment/variables.ts';
import { synthesize } from './synthesize.ts';

const { template, resource, resources } = synthesize({ settings: { webFunctions: 'all' } });

interface Behavior {
  PathPattern?: string;
  TargetOriginId: string;
}

const { DistributionConfig: config } = resource('AWS::CloudFront::Distribution').Properties as {
  DistributionConfig: {
    Origins: { Id: string; DomainName: unknown; OriginPath?: string; CustomOriginConfig: object }[];
    CacheBehaviors: Behavior[];
    DefaultCacheBehavior: Behavior;
    CustomErrorResponses?: object[];
  };
};
const originOf = ({ TargetOriginId }: Behavior) => {
  const origin = config.Origins.find(({ Id }) => Id === TargetOriginId);
  if (origin === undefined) throw new Error(`no origin ${TargetOriginId}`);
  return origin;
};

test('it is on unless a stage turns it off, and then nothing of it is there', () => {
  expect(Object.keys(synthesize({ settings: {} }).resources('AWS::CloudFront::Distribution'))).toHaveLength(
    1,
  );
  const plain = synthesize({ settings: { webFunctions: 'none' } });
  const types = Object.values(plain.template.toJSON().Resources as Record<string, { Type: string }>);
  expect(types.map(({ Type }) => Type).filter((type) => /CloudFront|WebFunction|Custom/.test(type))).toEqual(
    [],
  );
  expect(JSON.stringify(plain.template.toJSON())).not.toContain(variables.originSecret);
});

test('uploads go to the web function, all else to the gateway', () => {
  const [uploads, ...others] = config.CacheBehaviors;
  expect(others).toEqual([]);
  expect(uploads?.PathPattern).toBe(`/api/v1${routes['upload-file'].path}`);
  expect(JSON.stringify(originOf(uploads as Behavior).DomainName)).toMatch(
    /UploadsServerEndpoint.*DomainName/,
  );
  expect(JSON.stringify(originOf(config.DefaultCacheBehavior).DomainName)).toContain('.execute-api.');
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
    const origin = originOf(behavior);
    expect(origin.CustomOriginConfig).toMatchObject({
      OriginProtocolPolicy: 'https-only',
      OriginSSLProtocols: ['TLSv1.2'],
      OriginReadTimeout: 120,
    });
    expect(origin).not.toHaveProperty('OriginPath');
    const [header] = (origin as unknown as { OriginCustomHeaders: { HeaderName: string }[] })
      .OriginCustomHeaders;
    expect(header?.HeaderName).toBe(originSecretHeader);
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
  const { FunctionCode, FunctionConfig } = resource('AWS::CloudFront::Function').Properties as {
    FunctionCode: string;
    FunctionConfig: object;
  };
  expect(FunctionConfig).toMatchObject({ Runtime: 'cloudfront-js-2.0' });
  const handler = new Function(`${FunctionCode}; return handler;`)() as (event: object) => unknown;
  const headers = { host: { value: 'viewer.example' }, [viewerHostHeader]: { value: 'evil.example' } };
  expect(handler({ request: { headers } })).toEqual({
    headers: { ...headers, [viewerHostHeader]: { value: 'viewer.example' } },
  });
});

test('the name of the CloudFront function tells Region and stage, since names are the account’s', () => {
  expect(resource('AWS::CloudFront::Function').Properties.Name).toEqual({
    'Fn::Join': ['', [{ Ref: 'AWS::Region' }, '-agent-service-production-viewer-host']],
  });
});

test('all parts of the web function are given its name, which tells Region and stage, and never its ARN', () => {
  const types = ['WebFunction', 'WebFunctionRevision', 'WebFunctionEndpoint'];
  // With an ARN, CloudFormation creates the resources, but then cannot read the endpoint's domain name.
  for (const type of types)
    for (const [id, { Properties }] of Object.entries(resources(`AWS::Lambda::${type}`)))
      expect([id, Properties.FunctionName]).toEqual([
        id,
        // The Region makes the name unique in all Regions of the account.
        { 'Fn::Join': ['', [{ Ref: 'AWS::Region' }, '-agent-service-production-uploads']] },
      ]);
  const [[functionId], [revisionId], [endpointId]] = types.map((type) =>
    Object.keys(resources(`AWS::Lambda::${type}`)),
  ) as [[string], [string], [string]];
  // A plain name is not a reference, so DependsOn has to give the order.
  const { Resources } = template.toJSON() as { Resources: Record<string, { DependsOn: string[] }> };
  expect(Resources[revisionId]?.DependsOn).toContain(functionId);
  expect(Resources[endpointId]?.DependsOn).toEqual(expect.arrayContaining([functionId, revisionId]));
});

test('the web function runs for as long as an upload may take, and knows what it needs', () => {
  expect(resource('AWS::Lambda::WebFunctionRevision').Properties).toMatchObject({
    BuildConfig: { RuntimeConfig: { Runtime: 'nodejs24.x' } },
    ServiceConfig: {
      TimeoutSeconds: 900,
      MaxConcurrencyPerEnvironment: 32,
      EnvironmentVariables: {
        [variables.dataTable]: { Ref: 'DataTable' },
        [variables.fileBucket]: { Ref: 'FileBucket' },
        [variables.originSecret]: { Ref: expect.stringMatching(/^OriginSecret/) },
        [variables.stageLimits]: expect.stringContaining('uploads=2/s:5'),
        AWS_LAMBDA_NODEJS_ENTRYPOINT: 'index.mjs',
      },
    },
  });
  expect(resource('AWS::Lambda::WebFunctionEndpoint').Properties).toMatchObject({
    AuthType: 'ApplicationManaged',
  });
});

test('its endpoint takes as many requests and has as many environments as the settings say', () => {
  expect(resource('AWS::Lambda::WebFunctionEndpoint').Properties).toMatchObject({
    ThrottleConfig: { RateLimit: 1000 },
    ScalingConfig: { MaxEnvironments: 100 },
  });
  const closed = synthesize({ settings: { webRequestsPerSecond: 0, webEnvironments: 2 } });
  expect(closed.resource('AWS::Lambda::WebFunctionEndpoint').Properties).toMatchObject({
    ThrottleConfig: { RateLimit: 0 },
    ScalingConfig: { MaxEnvironments: 2 },
  });
});

test('an alarm counts who comes to it past the distribution', () => {
  const alarm = resource('AWS::CloudWatch::Alarm', 'AlarmsStrangers').Properties;
  expect(alarm).toMatchObject({
    Namespace: 'agent-service-production',
    MetricName: 'Strangers',
    Dimensions: [{ Name: 'service', Value: 'agent-service' }],
    Statistic: 'Sum',
    Period: 300,
    Threshold: 100,
  });
});

test('its revision waits for the policy of its role, as every function does', () => {
  const revision = resource('AWS::Lambda::WebFunctionRevision') as { DependsOn?: string[] };
  expect(revision.DependsOn).toContainEqual(expect.stringMatching(/^UploadsRoleDefaultPolicy/));
});

test('its role may do exactly this', () => {
  const { Statement } = resource('AWS::IAM::Policy', 'UploadsRole').Properties.PolicyDocument as {
    Statement: { Action: string | string[]; Resource: unknown; Condition?: unknown }[];
  };
  expect(Statement.find(({ Action }) => Action === 'dynamodb:UpdateItem')?.Condition).toEqual({
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['W#*#RATE#*', 'W#*#USAGE', 'KEY#*'] },
  });
  expect(Statement.flatMap(({ Action }) => Action).toSorted()).toEqual([
    'dynamodb:BatchGetItem',
    'dynamodb:GetItem',
    'dynamodb:PutItem',
    'dynamodb:UpdateItem',
    's3:AbortMultipartUpload',
    's3:DeleteObject',
    's3:GetObject',
    's3:PutObject',
    's3:PutObjectTagging',
    'secretsmanager:GetSecretValue',
  ]);
});

test('its role may write logs as the library’s own would: into a group beside its own too, which Lambda creates', () => {
  expect(resource('AWS::IAM::Role', 'UploadsRole').Properties.ManagedPolicyArns).toEqual([
    {
      'Fn::Join': [
        '',
        ['arn:', { Ref: 'AWS::Partition' }, ':iam::aws:policy/service-role/AWSLambdaBasicExecutionRole'],
      ],
    },
  ]);
});

test('only functions that make links, and the web function, may read the secret of the origins', () => {
  const readers = Object.entries(resources('AWS::IAM::Policy')).filter(([, policy]) =>
    JSON.stringify(policy).includes('OriginSecret'),
  );
  expect(
    readers.map(([id]) => id.replace(/Role(Default)?Policy.*$/, '').replace(/Role.*$/, '')).toSorted(),
  ).toEqual(['ListBatchResults', 'ListBatches', 'ListChats', 'ListMessages', 'Uploads']);
});

test('every function, also one of the library, logs into a group of the template, which forgets', () => {
  const functions = Object.entries(resources('AWS::Lambda::Function'));
  // The library's two functions empty buckets and copy the web function's code.
  expect(functions).toHaveLength(functionNames.length + 2);
  const groups = resources('AWS::Logs::LogGroup');
  for (const [id, { Properties }] of functions) {
    const { LogGroup } = (Properties.LoggingConfig ?? {}) as { LogGroup?: { Ref: string } };
    expect([id, Object.keys(groups)]).toEqual([id, expect.arrayContaining([LogGroup?.Ref])]);
  }
  for (const { Properties } of Object.values(groups))
    expect(Properties).toMatchObject({ RetentionInDays: 30 });
});

test('the base address is the distribution’s', () => {
  expect(template.findOutputs('BaseAddress').BaseAddress?.Value).toEqual({
    'Fn::Join': [
      '',
      ['https://', { 'Fn::GetAtt': [expect.stringContaining('Distribution'), 'DomainName'] }, '/api/v1'],
    ],
  });
});

test('the gateway tells who sends too much how much it takes, and where more is taken', () => {
  const [response] = Object.values(resources('AWS::ApiGateway::GatewayResponse')).filter(
    ({ Properties }) => Properties.ResponseType === 'REQUEST_TOO_LARGE',
  );
  expect(response?.Properties.StatusCode).toBe(String(errorTable.badRequest.status));
  expect(JSON.stringify(response?.Properties.ResponseTemplates)).toMatch(/at most 6 MB.*4\.5 MB.*50 MB/);
});
