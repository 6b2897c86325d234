import { DynamoDBClient, GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { DescribeExecutionCommand, SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { APIGatewayProxyEvent, SQSEvent } from 'aws-lambda';

const dynamodb = new DynamoDBClient({});
const s3 = new S3Client({});
const sfn = new SFNClient({});
const sqs = new SQSClient({});
const { TABLE: TableName, BUCKET: Bucket, QUEUE: QueueUrl, MACHINE: stateMachineArn } = process.env;

const respond = (body: unknown) => ({ statusCode: 200, body: JSON.stringify(body) });

export const writeNote = async ({ pathParameters, body }: APIGatewayProxyEvent) => {
  const id = pathParameters?.id ?? '';
  await dynamodb.send(new PutItemCommand({ TableName, Item: { id: { S: id }, text: { S: body ?? '' } } }));
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify({ id, text: body }) }));
  return respond({ id });
};

export const copyNote = async ({ Records }: SQSEvent) => {
  for (const { body } of Records) {
    const { id, text } = JSON.parse(body) as { id: string; text: string };
    await s3.send(new PutObjectCommand({ Bucket, Key: `${id}.txt`, Body: text }));
  }
};

/** The note, and its copy if there is one yet. */
export const readNote = async ({ pathParameters }: APIGatewayProxyEvent) => {
  const id = pathParameters?.id ?? '';
  const { Item } = await dynamodb.send(new GetItemCommand({ TableName, Key: { id: { S: id } } }));
  const copy = await s3
    .send(new GetObjectCommand({ Bucket, Key: `${id}.txt` }))
    .then(({ Body }) => Body?.transformToString())
    .catch(() => null);
  return respond({ text: Item?.text?.S ?? null, copy });
};

export const countNotes = async () => {
  const { Count } = await dynamodb.send(new ScanCommand({ TableName, Select: 'COUNT' }));
  return { count: Count };
};

/** Runs the workflow to its end. */
export const startCount = async () => {
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn }));
  for (;;) {
    const { status, output } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    if (status !== 'RUNNING') return respond({ status, output: JSON.parse(output ?? 'null') });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
