import { MathExpression, Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import {
  WebFunction,
  WebFunctionAuthType,
  WebFunctionCode,
  type WebFunctionEndpoint,
  WebFunctionRuntime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { ArnFormat, type Duration, Lazy, Stack, Validations } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { variables } from '#runtime/environment/variables.ts';
import { allOf, type Need } from './needs.ts';
import type { Platform } from './platform.ts';
import { logsOf, pinLogicalId } from './retention.ts';
import { ServiceRole } from './service-role.ts';

export class WebServer extends Construct {
  readonly domainName: string;
  /** Changes when the endpoint may get another domain name. */
  readonly endpointId: string;
  readonly name: string;
  readonly functionName: string;
  readonly logGroup: LogGroup;
  readonly endpoint: WebFunctionEndpoint;

  constructor(
    scope: Construct,
    id: string,
    props: {
      function: 'serve-chats' | 'receive-uploads';
      platform: Platform;
      needs: readonly Need[];
      timeout: Duration;
      requestsPerEnvironment: number;
      publicReason: string;
    },
  ) {
    super(scope, id);
    const { bundles, settings } = props.platform;
    const [name, logsId] =
      props.function === 'serve-chats' ? ['chats', 'ServeChatsLogs'] : ['uploads', 'ReceiveUploadsLogs'];
    this.name = name;
    const logs = logsOf(settings);
    this.logGroup = new LogGroup(this, 'Logs', logs);
    pinLogicalId(this.logGroup, logsId);
    const role = new ServiceRole(this, 'Role', 'lambda.amazonaws.com');
    allowLogs(role, this.logGroup, logsId);
    const { region, stackName } = Stack.of(this);
    const environment: Record<string, string> = {
      [variables.metricsNamespace]: stackName,
      [variables.logLevel]: settings.logLevel,
    };
    allOf(...props.needs)({
      addToRolePolicy: (statement) => role.addToPolicy(statement),
      addEnvironment: (name, value) => {
        environment[name] = value;
      },
    });

    // The name must be unique over all Regions of an account, and have at most 64 characters: lib/stage.ts limits that
    // of the stage.
    const functionName = `${region}-${stackName}-${name}`;
    this.functionName = functionName;
    const server = new WebFunction(this, 'Server', {
      webFunctionName: functionName,
      code: WebFunctionCode.fromAssetToManagedBucket(bundles.folderOf(props.function), {
        copyOptions: { logGroup: new LogGroup(this, 'CopyLogs', logs) },
      }),
      runtime: WebFunctionRuntime.NODEJS_24_X,
      // Neither CloudFront, for a body that it streams, nor API Gateway signs a request to a web function. So the
      // function itself checks where a request comes from.
      defaultEndpointAuth: WebFunctionAuthType.APPLICATION_MANAGED,
      defaultEndpoint: {
        rateLimit: settings.webRequestsPerSecond,
        maxEnvironments: settings.webEnvironments,
      },
      role,
      logGroup: this.logGroup,
      timeout: props.timeout,
      maxConcurrencyPerEnvironment: props.requestsPerEnvironment,
      environment,
    });
    // CDK sets these names to the function's ARN. CloudFormation could then neither read the endpoint's domain name nor
    // roll back.
    server.resourceRevision.functionName = functionName;
    server.endpoint.resource.functionName = functionName;
    this.domainName = server.endpoint.domainName;
    const { resource } = server.endpoint;
    this.endpoint = server.endpoint;
    const identity = () => {
      const { endpointName, endpointType, regions = [] } = resource;
      return [Stack.of(this).getLogicalId(resource), functionName, endpointName, endpointType, ...regions];
    };
    // Computed at synthesis, because code after this constructor may still change the endpoint.
    this.endpointId = Lazy.string({ produce: () => identity().join(' ') });
    Validations.of(server).acknowledge({
      id: 'Annotation::@aws-cdk/aws-lambda:webFunctionPublicEndpoint',
      reason: props.publicReason,
    });
    acknowledgeRules(Stack.of(this));
  }

  metricServerErrors(options: MetricOptions): Metric {
    return new Metric({
      namespace: 'AWS/Lambda/Web',
      metricName: 'HTTPResponseStatusClass5XX',
      dimensionsMap: { FunctionName: this.functionName, EndpointName: this.endpoint.resource.endpointName },
      statistic: 'Sum',
      ...options,
    });
  }

  /** Only for dashboards: alarms take no search. */
  everyMetric(statistic: string): MathExpression {
    return new MathExpression({
      expression: `SEARCH('"${this.functionName}"', '${statistic}', 300)`,
      usingMetrics: {},
      label: `${this.name}, ${statistic.toLowerCase()}`,
    });
  }
}

/**
 * AWS's managed policy would allow writes to every log group of the account. Lambda first writes to a group whose name
 * ends in `.local`, which it creates with this role.
 */
function allowLogs(role: Role, logGroup: LogGroup, logsId: string): void {
  logGroup.grantWrite(role);
  const first = Stack.of(role).formatArn({
    service: 'logs',
    resource: 'log-group',
    resourceName: `${logGroup.logGroupName}.local`,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
  role.addToPolicy(
    new PolicyStatement({
      actions: ['logs:CreateLogGroup', 'logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [first, `${first}:*`],
    }),
  );
  Validations.of(role).acknowledge({
    id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:<${logsId}>.local:*]`,
    reason: 'The streams of one log group, whose names Lambda makes at run time.',
  });
}

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
