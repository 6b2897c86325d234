import { describe, expect, test } from 'vitest';
import { functionNames } from '#lib/bundles/function-bundles.ts';
import { pascalCase } from '#lib/function-names.ts';
import { variables } from '#runtime/environment/variables.ts';
import { type Resource, synthesize } from './synthesize.ts';

/**
 * With a changed logical id, CloudFormation creates a new resource and, in a stage without protection, deletes the old
 * data.
 */
const stateful = [
  ['AWS::DynamoDB::GlobalTable', 'DataTable'],
  ['AWS::S3::Bucket', 'ContentBucket'],
  ['AWS::S3::Bucket', 'FileBucket'],
  ['AWS::SecretsManager::Secret', 'OpenAiApiKey'],
  // Without the keys, the stored secrets of tools and of webhooks cannot be decrypted.
  ['AWS::KMS::Key', 'ToolSecretKey'],
  ['AWS::KMS::Key', 'WebhookKey'],
] as const;

/** With `Retain`, each failed first deployment would leave empty resources behind. */
const retained = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };

const production = synthesize();
const development = synthesize({ stage: 'development' });
const withUploads = synthesize({ settings: { webFunctions: 'all' } });

describe.each(stateful)('%s', (type, logicalId) => {
  test('outlives a production stack, but not one whose first deployment failed', () => {
    expect(production.resource(type, logicalId)).toMatchObject(retained);
  });

  test('goes with a development stack', () => {
    expect(development.resource(type, logicalId)).toMatchObject({
      DeletionPolicy: 'Delete',
      UpdateReplacePolicy: 'Delete',
    });
  });
});

/**
 * The log groups that remain when a stack is deleted, and that another stack can take over by `cdk import`
 * (docs/deploy.md).
 */
const retainedLogs = [
  ...functionNames.map((name) => `${pascalCase(name)}Logs`),
  'BatchWorkflowLogs',
  'GatewayAccessLogs',
  'GatewayExecutionLogs',
];

test('what logs tell outlives a production stack too, under names of its own', () => {
  const groups = production.resources('AWS::Logs::LogGroup');
  expect(Object.keys(groups).toSorted()).toEqual(retainedLogs.toSorted());
  for (const group of Object.values(groups)) expect(group).toMatchObject(retained);
  for (const group of Object.values(development.resources('AWS::Logs::LogGroup')))
    expect(group.DeletionPolicy).toBe('Delete');
  expect(withUploads.resource('AWS::Logs::LogGroup', 'ReceiveUploadsLogs')).toMatchObject(retained);
});

const outlivingOf = ({ template }: typeof production) =>
  Object.entries(template.toJSON().Resources as Record<string, Resource>).filter(([, { DeletionPolicy }]) =>
    DeletionPolicy?.startsWith('Retain'),
  );

test('nothing else outlives a stack', () => {
  const outliving = outlivingOf(production);
  // API Gateway's logging role exists once in each account and Region. All gateways of the account need it, so it
  // stays.
  const ofTheAccount = outliving.filter(([id]) => /^ApiGateway(Account|CloudWatchRole)/.test(id));
  expect(ofTheAccount.map(([, { DeletionPolicy }]) => DeletionPolicy)).toEqual(['Retain', 'Retain']);
  expect(outliving.map(([id]) => id).toSorted()).toEqual(
    [...stateful.map(([, id]) => id), ...retainedLogs, ...ofTheAccount.map(([id]) => id)].toSorted(),
  );
});

test('buckets that go with their stack are emptied first, and only those', () => {
  const emptied = ({ resources }: typeof production) =>
    Object.values(resources('Custom::S3AutoDeleteObjects')).map(
      ({ Properties }) => Properties.BucketName.Ref,
    );
  expect(emptied(development).toSorted()).toEqual(['ContentBucket', 'FileBucket']);
  expect(emptied(production)).toEqual([]);
  // The library's bucket, from which the web function gets its code.
  expect(emptied(withUploads)).toEqual([expect.stringMatching(/^AWSCDKWebFunctionAssetBucket/)]);
});

test('resources with data need no other, so that a new stack can begin by taking them over', () => {
  for (const [type, id] of stateful) {
    const text = JSON.stringify(production.resource(type, id));
    expect([id, text.match(/"Ref":"(?!AWS::)|"Fn::GetAtt"|"DependsOn"/)]).toEqual([id, null]);
  }
});

test('what clients know the address of keeps its logical id', () => {
  expect(Object.keys(production.resources('AWS::ApiGateway::RestApi'))).toEqual(['Gateway']);
  expect(Object.keys(withUploads.resources('AWS::CloudFront::Distribution'))).toEqual(['Distribution']);
});

test('the table can be restored to any second, forgets by ttl, and in production cannot be deleted', () => {
  const table = (deletionProtection: boolean) => ({
    TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
    Replicas: [
      {
        DeletionProtectionEnabled: deletionProtection,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      },
    ],
  });
  production.template.hasResourceProperties('AWS::DynamoDB::GlobalTable', table(true));
  development.template.hasResourceProperties('AWS::DynamoDB::GlobalTable', table(false));
});

test.each(['ContentBucket', 'FileBucket'])('%s is encrypted, and clears up abandoned uploads', (bucket) => {
  expect(production.resource('AWS::S3::Bucket', bucket).Properties).toMatchObject({
    BucketEncryption: {
      ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
    },
    LifecycleConfiguration: {
      Rules: expect.arrayContaining([
        { AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 }, Status: 'Enabled' },
      ]),
    },
  });
});

test('a file that is not kept goes after a day', () => {
  expect(
    production.resource('AWS::S3::Bucket', 'FileBucket').Properties.LifecycleConfiguration,
  ).toMatchObject({
    Rules: expect.arrayContaining([
      { ExpirationInDays: 1, TagFilters: [{ Key: 'kept', Value: 'no' }], Status: 'Enabled' },
    ]),
  });
});

const restoredTable = 'agent-service-restored';
/** The values of a property, wherever the template has it. */
function valuesOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => (key === name ? [child] : valuesOf(child, name)));
}

describe.each(['all', 'none'])('a stage on a restored table, with web functions: %s', (webFunctions) => {
  const ownStage = synthesize({ settings: { webFunctions } });
  const stage = synthesize({ settings: { webFunctions, restoredTable } });
  const [own, template] = [ownStage.template, stage.template];
  const resourcesOf = (one: typeof own) => one.toJSON().Resources as Record<string, Resource>;

  test('has the same resources, less its own table', () => {
    const [before, after] = [own, template].map((one) => Object.keys(resourcesOf(one)));
    // The id of a gateway's deployment is a digest of the gateway, and the id of a version one of its function.
    const withoutDigests = (ids: string[] = []) =>
      ids.map((id) => id.replace(/[0-9a-f]{32}$/, '')).toSorted();
    expect(withoutDigests(before).filter((id) => id !== 'DataTable')).toEqual(withoutDigests(after));
    expect(before).toContain('DataTable');
  });

  test('refers to that table by its name alone', () => {
    expect(JSON.stringify(own.toJSON())).toContain('"DataTable"');
    expect(JSON.stringify(template.toJSON())).not.toContain('"DataTable"');
    expect(new Set(valuesOf(template.toJSON(), variables.dataTable))).toEqual(new Set([restoredTable]));
    const dimensions = Object.values(template.findResources('AWS::CloudWatch::Alarm'))
      .flatMap((alarm) => valuesOf(alarm, 'Dimensions').flat() as { Name: string; Value: unknown }[])
      .filter(({ Name }) => Name === 'TableName');
    expect(new Set(dimensions.map(({ Value }) => Value))).toEqual(new Set([restoredTable]));
    expect(template.findOutputs('DataTableName').DataTableName?.Value).toBe(restoredTable);
  });
});
