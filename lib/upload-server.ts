import type { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { ManagedPolicy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  WebFunction,
  WebFunctionAuthType,
  WebFunctionCode,
  WebFunctionRuntime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Duration, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { pinLogicalId } from './logical-id.ts';
import { removalPolicyOf } from './removal-policy.ts';
import type { Settings } from './settings.ts';
import { updateStatement } from './update-statement.ts';

/**
 * Concurrent uploads in one environment. Each buffers a part of 5 MB and the data of two connections, so 32 uploads
 * need about 200 MB. Lambda adds environments under load, at most as many as the setting `webEnvironments` says.
 */
const uploadsPerEnvironment = 32;

/** The server for large uploads. It is an HTTP server because the event of a function can have at most 6 MB. */
export class UploadServer extends Construct {
  /** The endpoint's domain name. The server closes connections without the origin's secret before it reads a body. */
  readonly domainName: string;

  constructor(
    scope: Construct,
    id: string,
    props: {
      codeFolder: string;
      table: TableV2;
      files: Bucket;
      originSecret: Secret;
      stageLimits: string;
      settings: Settings;
    },
  ) {
    super(scope, id);
    const { table, files, originSecret } = props;
    const logs = {
      retention: props.settings.logRetentionDays,
      removalPolicy: removalPolicyOf(props.settings),
    };
    const logGroup = new LogGroup(this, 'Logs', logs);
    pinLogicalId(logGroup, 'ReceiveUploadsLogs');
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      // The policy that the library attaches to a web function. Lambda first writes to a log group whose name is that
      // of `logGroup` followed by `.local`, and creates it with this role.
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaBasicExecutionRole')],
    });
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
      reason: 'Lambda documents no narrower permission with which a web function can log.',
    });
    const allow = (actions: string[], resource: string) =>
      role.addToPolicy(new PolicyStatement({ actions, resources: [resource] }));
    allow(['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:PutItem'], table.tableArn);
    role.addToPolicy(updateStatement(table, ['rateBuckets', 'usage', 'apiKeys']));
    allow(
      ['s3:GetObject', 's3:PutObject', 's3:PutObjectTagging', 's3:DeleteObject', 's3:AbortMultipartUpload'],
      files.arnForObjects('*'),
    );
    allow(['secretsmanager:GetSecretValue'], originSecret.secretArn);

    const { region, stackName } = Stack.of(this);
    // The name must be unique over all Regions of an account; the library's default name would be the same in each
    // Region. The limit is 64 characters: a Region has at most 14, and lib/stage.ts limits the stage's name.
    const functionName = `${region}-${stackName}-uploads`;
    const server = new WebFunction(this, 'Server', {
      webFunctionName: functionName,
      code: WebFunctionCode.fromAssetToManagedBucket(props.codeFolder, {
        copyOptions: { logGroup: new LogGroup(this, 'CopyLogs', logs) },
      }),
      runtime: WebFunctionRuntime.NODEJS_24_X,
      entryPoint: 'index.mjs',
      // CloudFront cannot sign a body that it streams, so the function itself authenticates the caller: first by the
      // origin's secret, then by the API key.
      defaultEndpointAuth: WebFunctionAuthType.APPLICATION_MANAGED,
      defaultEndpoint: {
        rateLimit: props.settings.webRequestsPerSecond,
        maxEnvironments: props.settings.webEnvironments,
      },
      role,
      logGroup,
      // The maximum of a web function. A file of 50 MB arrives in time at half a megabit a second.
      timeout: Duration.minutes(15),
      maxConcurrencyPerEnvironment: uploadsPerEnvironment,
      environment: {
        [variables.metricsNamespace]: stackName,
        [variables.logLevel]: props.settings.logLevel,
        [variables.usageDays]: String(props.settings.usageDays),
        [variables.dataTable]: table.tableName,
        [variables.fileBucket]: files.bucketName,
        [variables.originSecret]: originSecret.secretArn,
        [variables.stageLimits]: props.stageLimits,
        ...(props.settings.corsOrigins.length > 0 && { [variables.handlesPreflights]: 'true' }),
      },
    });
    // The library adds this dependency for ordinary functions. Without it a first request could come before the role's
    // policy exists.
    server.node.findChild('Revision').node.addDependency(role);
    // The library sets `functionName` of both resources to the function's ARN. CloudFormation would create both with
    // the ARN, but then it could neither read the endpoint's domain name nor roll back.
    server.resourceRevision.functionName = functionName;
    server.endpoint.resource.functionName = functionName;
    this.domainName = server.endpoint.domainName;
    Validations.of(server).acknowledge({
      id: 'Annotation::@aws-cdk/aws-lambda:webFunctionPublicEndpoint',
      reason: "Every caller must send the origin's secret and an API key.",
    });
    acknowledgeRules(Stack.of(this));
  }
}

/** Acknowledges the findings of cdk-nag about the library's own resources that copy the code of a web function. */
function acknowledgeRules(stack: Stack): void {
  const reason =
    'Made by the library for a deployment to copy the code of the web function, and for nothing else.';
  for (const child of stack.node.children)
    if (/^AWSCDKWebFunctionAssetBucket$|^Custom::S3ObjectCopy/.test(child.node.id))
      Validations.of(child).acknowledge(
        ...[
          'S1',
          'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]',
          'IAM5[Resource::arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*]',
          'IAM5[Resource::<AWSCDKWebFunctionAssetBucket5B596593.Arn>/web-function/*]',
          'IAM5[Action::s3:Abort*]',
          'IAM5[Action::s3:DeleteObject*]',
        ].map((rule) => ({ id: `AwsSolutions-${rule}`, reason })),
      );
}
