import { registerKey } from '../kms/keys.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { callAwsJson } from '../wire/call-aws-json.ts';
import { serveQueues } from './serve-queues.ts';

// Others, such as encryption and tags, do not change how the emulator handles messages.
const FORWARDED = [
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'RedrivePolicy',
  'VisibilityTimeout',
];

/** SQS queues, in memory: their messages are lost when the run ends. */
export const queues: ResourceKind = {
  types: ['AWS::SQS::Queue'],

  async open(resources, context) {
    const server = await serveQueues(context.region, context.accountId, context.access);
    context.endpoints.sqs = server.endpoint;

    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'QueueName');

    const arnOf = (resource: TemplateResource) => context.arnOf('sqs', nameOf(resource));

    return {
      // The URL has the emulator's address: by default, SDK clients send requests to the host of the queue's URL.
      ref: (resource) => server.urlOf(nameOf(resource)),
      attribute: (resource, name) => ({ Arn: arnOf(resource), QueueName: nameOf(resource) })[name],
      environmentFor: () => ({ AWS_ENDPOINT_URL_SQS: server.endpoint }),
      async start() {
        for (const resource of resources) {
          const properties = context.read<Record<string, unknown>>(resource);
          if (properties.FifoQueue === true) reject(resource, 'FIFO queues cannot run locally');
          registerKey(context, arnOf(resource), properties.KmsMasterKeyId);
          const input = { QueueName: nameOf(resource), Attributes: attributesOf(properties) };
          await callAwsJson(server.endpoint, 'AmazonSQS.CreateQueue', input).catch((error: Error) =>
            reject(resource, error.message),
          );
        }
      },
      close: server.close,
    };
  },
};

function attributesOf(properties: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    FORWARDED.flatMap((name) => {
      const value = properties[name];
      if (value === undefined) return [];
      return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
    }),
  );
}
