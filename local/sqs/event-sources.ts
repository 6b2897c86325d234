import type { RunContext } from '../run-context.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { callAwsJson } from '../wire/call-aws-json.ts';
import { pollQueue } from './poll-queue.ts';
import { readEventSource } from './read-event-source.ts';

/** Lambda calls these operations with the function's role, and checks their permissions when it creates the mapping. */
const NEEDED_OPERATIONS = ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'];

export const eventSources: ResourceKind = {
  types: ['AWS::Lambda::EventSourceMapping'],

  async open(resources, context) {
    const stops: (() => void)[] = [];
    return {
      ref: (resource) => context.nameOf(resource),
      attribute: () => undefined,
      async start() {
        for (const resource of resources) {
          const stop = await startPoller(resource, context);
          if (stop) stops.push(stop);
        }
      },
      async close() {
        for (const stop of stops) stop();
      },
    };
  },
};

async function startPoller(
  resource: TemplateResource,
  context: RunContext,
): Promise<(() => void) | undefined> {
  const source = readEventSource(resource, context);
  const { target, queueArn } = source;
  for (const operation of NEEDED_OPERATIONS) {
    const rejection = context.access.rejectionOf(target.accessKeyId, [
      { action: `sqs:${operation}`, resource: queueArn },
    ]);
    if (rejection)
      reject(
        resource,
        `The function execution role does not have permissions to call ${operation} on SQS: ${rejection.message}`,
      );
  }
  const endpoint = context.endpoints.sqs ?? '';
  const queueUrl = `${endpoint}/${context.accountId}/${queueArn.split(':').pop()}`;
  const { Attributes } = await callAwsJson<{ Attributes: { VisibilityTimeout: string } }>(
    endpoint,
    'AmazonSQS.GetQueueAttributes',
    { QueueUrl: queueUrl, AttributeNames: ['VisibilityTimeout'] },
  );
  const visibilitySeconds = Number(Attributes.VisibilityTimeout);
  if (visibilitySeconds < target.timeoutSeconds)
    reject(
      resource,
      `Queue visibility timeout: ${visibilitySeconds} seconds is less than Function timeout: ${target.timeoutSeconds} seconds`,
    );
  if (!source.enabled) return undefined;
  const { functionName, accessKeyId } = target;
  const credentials = context.access.rules.sessions.get(accessKeyId);
  if (credentials === undefined) throw new Error(`${functionName} has no role`);
  return pollQueue({
    source,
    credentials,
    endpoint,
    queueUrl,
    visibilitySeconds,
    redeliverySeconds: context.options.redeliverySeconds,
    region: context.region,
    deliverTwice: context.options.faults?.duplicateMessages ?? false,
    onFailure: (line) => context.options.onLog?.({ functionName, line }),
  });
}
