import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsSolutionsChecks } from 'cdk-nag';
import { afterAll, expect, test, vi } from 'vitest';
import { createService, domain } from './synthesize.ts';

const folder = mkdtempSync(join(tmpdir(), 'app-test-'));
// Each test starts the whole app. It takes seconds on an idle processor, and minutes on a busy one.
vi.setConfig({ testTimeout: 600_000 });
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts the app as the CDK command line does. */
function runApp(name: string, context: Record<string, unknown>, region?: string) {
  const output = join(folder, name);
  const run = spawnSync(process.execPath, ['bin/app.ts'], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      CDK_OUTDIR: output,
      CDK_CONTEXT_JSON: JSON.stringify(context),
      CDK_DEFAULT_REGION: region,
    },
    encoding: 'utf8',
  });
  const read = (file: string) => JSON.parse(readFileSync(join(output, file), 'utf8'));
  return { ...run, output, read };
}

/** What `cdk deploy --all` deploys. */
const stacksOf = (artifacts: Record<string, { type: string }>): string[] =>
  Object.entries(artifacts)
    .filter(([, { type }]) => type === 'aws:cloudformation:stack')
    .map(([id]) => id)
    .toSorted();

/** All that settings can add to a stage, so that the rules see each resource and each statement once. */
const everything = {
  domain: {
    name: 'agents.example.com',
    certificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d',
    hostedZone: { id: 'Z0123456789', name: 'example.com' },
  },
  firewall: {},
  bothEntryPoints: true,
  corsOrigins: ['https://a.example', 'https://b.example'],
  webSearch: { provider: 'brave' },
  bedrockKnowledgeBases: ['ABCDE12345'],
  bedrockModels: [
    'amazon.nova-lite-v1:0',
    'eu.amazon.nova-lite-v1:0',
    'global.anthropic.claude-sonnet-4-6',
    'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123',
  ],
};

test('the app writes the assembly of production, which breaks no rule of CloudFormation or cdk-nag', () => {
  const { status, stderr, output, read } = runApp('production', { settings: everything }, 'eu-west-1');
  expect(status).toBe(0);
  expect(stderr.match(/^[A-Z]{2,} .*/gm)).toEqual([expect.stringContaining('WARNING Nobody is notified')]);
  const { pluginReports } = read('validation-report.json');
  const rules = pluginReports.flatMap(({ violations }: { violations: { ruleName: string }[] }) =>
    violations.map(({ ruleName }) => ruleName),
  );
  expect(rules).toEqual(['Annotation::agent-service:no-alarm-address']);
  const { artifacts } = read('manifest.json');
  const { AgentService, DistributionAlarms } = artifacts;
  expect(stacksOf(artifacts)).toEqual(['AgentService', 'DistributionAlarms', 'Firewall']);
  expect(DistributionAlarms).toMatchObject({
    environment: 'aws://unknown-account/us-east-1',
    dependencies: expect.arrayContaining(['AgentService']),
    // The same stage in another Region is another service.
    properties: { stackName: 'agent-service-production-distribution-eu-west-1' },
  });
  expect(JSON.stringify(read('DistributionAlarms.template.json'))).toContain(
    '{"StackName":"agent-service-production","Region":"eu-west-1","OutputName":"DistributionId"}',
  );
  expect(AgentService.properties).toMatchObject({
    stackName: 'agent-service-production',
    terminationProtection: true,
  });
  const assets: { source: { path: string } }[] = Object.values(read('AgentService.assets.json').files);
  for (const { source } of assets) expect(existsSync(join(output, source.path))).toBe(true);
});

test('in the Region of CloudFront’s metrics, the stack of the service has the alarm of the distribution', () => {
  const { read } = runApp('us-east-1', { settings: { firewall: {} }, unchecked: true }, 'us-east-1');
  expect(stacksOf(read('manifest.json').artifacts)).toEqual(['AgentService', 'Firewall']);
});

// The first test looks at production with everything that settings can add.
test.each([
  [
    'production',
    {
      ...{ domain, firewall: {}, alarmEmails: ['someone@example.com'], webFunctions: 'none' },
      corsOrigins: ['https://a.example'],
    },
  ],
  ['development', {}],
])('%s with %j breaks no rule of cdk-nag that is not acknowledged', (stage, settings) => {
  const { app, stack } = createService({ stage, settings });
  expect(new AwsSolutionsChecks(app).validateScope(app).violations).toEqual([]);
  // A production stack cannot be deleted by mistake.
  expect(stack.terminationProtection).toBe(stage === 'production');
});

test('the rules are looked at: without its acknowledgements the stack breaks some', () => {
  const { app } = createService({ settings: {} });
  for (const construct of app.node.findAll()) Reflect.set(construct.node, '_metadata', []);
  const broken = new AwsSolutionsChecks(app).validateScope(app).violations.map(({ ruleName }) => ruleName);
  const withoutHash = broken.map((rule) => rule.replace(/[0-9A-F]{8}(?=\.(Arn|Name)>)/, ''));
  expect(withoutHash.toSorted()).toEqual([
    'AwsSolutions-APIG2',
    'AwsSolutions-APIG3',
    'AwsSolutions-CFR1',
    'AwsSolutions-CFR2',
    'AwsSolutions-CFR3',
    'AwsSolutions-CFR4',
    'AwsSolutions-COG4',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
    'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
    'AwsSolutions-IAM5[Action::s3:Abort*]',
    'AwsSolutions-IAM5[Action::s3:DeleteObject*]',
    'AwsSolutions-IAM5[Resource::*]',
    'AwsSolutions-IAM5[Resource::<AWSCDKWebFunctionAssetBucket.Arn>/web-function/*]',
    'AwsSolutions-IAM5[Resource::<ContentBucket.Arn>/*]',
    'AwsSolutions-IAM5[Resource::<FileBucket.Arn>/*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:<ReceiveUploadsLogs>.local:*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:<ServeChatsLogs>.local:*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*]',
    'AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:<BatchesMachine.Name>:*]',
    'AwsSolutions-S1',
    'AwsSolutions-SMG4',
    'AwsSolutions-SQS3',
  ]);
});
