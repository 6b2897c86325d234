import { App, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { DefinitionBody, StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';

/**
 * An app of one stack, as its author writes it for AWS: notes in a table, whose texts a queue's function copies to a
 * bucket; a workflow that counts them, and a rule that writes one.
 * @param code a folder with handlers.mjs
 * @param outdir where the cloud assembly is written
 */
export function synthesizeExample(code: string, outdir: string): void {
  const app = new App({ outdir, analyticsReporting: false });
  const stack = new Stack(app, 'Notes');
  const table = new Table(stack, 'Table', {
    partitionKey: { name: 'id', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  const bucket = new Bucket(stack, 'Bucket');
  const queue = new Queue(stack, 'Queue', { visibilityTimeout: Duration.seconds(30) });
  const define = (name: string, environment: Record<string, string> = {}) =>
    new LambdaFunction(stack, name, {
      runtime: Runtime.NODEJS_24_X,
      code: Code.fromAsset(code),
      handler: `handlers.${name}`,
      memorySize: 256,
      timeout: Duration.seconds(10),
      environment: {
        TABLE: table.tableName,
        BUCKET: bucket.bucketName,
        QUEUE: queue.queueUrl,
        ...environment,
      },
    });

  const copy = define('copyNote');
  copy.addEventSource(new SqsEventSource(queue));
  bucket.grantPut(copy);
  const count = define('countNotes');
  table.grantReadData(count);
  const machine = new StateMachine(stack, 'Count', {
    definitionBody: DefinitionBody.fromChainable(
      new LambdaInvoke(stack, 'Count the notes', { lambdaFunction: count, outputPath: '$.Payload' }),
    ),
  });

  const write = define('writeNote');
  table.grantWriteData(write);
  queue.grantSendMessages(write);
  const read = define('readNote');
  table.grantReadData(read);
  bucket.grantRead(read);
  const start = define('startCount', { MACHINE: machine.stateMachineArn });
  machine.grantStartExecution(start);
  machine.grantRead(start);
  const api = new RestApi(stack, 'Api');
  const note = api.root.addResource('notes').addResource('{id}');
  note.addMethod('PUT', new LambdaIntegration(write));
  note.addMethod('GET', new LambdaIntegration(read));
  api.root.addResource('count').addMethod('POST', new LambdaIntegration(start));

  const event = RuleTargetInput.fromObject({ pathParameters: { id: 'scheduled' }, body: 'by a rule' });
  new Rule(stack, 'Hourly', {
    schedule: Schedule.rate(Duration.hours(1)),
    targets: [new LambdaTarget(write, { event })],
  });
  new CfnOutput(stack, 'BucketName', { value: bucket.bucketName });
  app.synth();
}
