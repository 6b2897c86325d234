import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { claimPort, portOf, releasePort } from '../wire/listen-on-loopback.ts';
import { rejectPages } from '../wire/reject-pages.ts';
import { denialOf, deniedAwsJson, type Guard, operationOf } from '../wire/serve-aws-json.ts';

/** On 127.0.0.1 only: the emulator's own start function would listen on all addresses. */
export async function serveQueues(region: string, accountId: string, guard: Guard) {
  const { buildApp } = await import('fauxqs');
  const app = buildApp({ logger: false, defaultRegion: region });
  let endpoint = '';
  const urlOf = (queueName: string) => `${endpoint}/${accountId}/${queueName}`;
  // The emulator's host name in a queue URL does not resolve on every machine.
  const ownUrl = (url: string) => urlOf(url.split('/').pop() ?? '');

  const arnIn = (body: unknown): string => {
    const { QueueUrl, QueueName } = (body ?? {}) as { QueueUrl?: string; QueueName?: string };
    const name = QueueUrl?.split('/').pop() ?? QueueName;
    return name === undefined ? '*' : `arn:aws:sqs:${region}:${accountId}:${name}`;
  };
  const responding = new WeakMap<object, (response: unknown) => void>();
  const bodies = new WeakMap<object, Buffer>();
  app.addHook('preParsing', async (request, _reply, payload) => {
    const body = await buffer(payload);
    bodies.set(request, body);
    return Readable.from([body]);
  });
  app.addHook('preHandler', async (request, reply) => {
    const action = operationOf(request);
    const denial = denialOf(guard, request, bodies.get(request) ?? '', [
      // IAM has no batch actions for SQS: it checks the action of the entries.
      { action: `sqs:${action.replace(/Batch$/, '')}`, resource: arnIn(request.body) },
    ]);
    if (denial) return reply.code(400).send(deniedAwsJson(denial));
    if (request.body) responding.set(request, preserveGroups(action, request.body));
  });
  app.addHook('preSerialization', async (request, _reply, payload: unknown) => {
    responding.get(request)?.(payload);
    const response = payload as { QueueUrl?: string; QueueUrls?: string[] };
    if (response.QueueUrl) response.QueueUrl = ownUrl(response.QueueUrl);
    if (response.QueueUrls) response.QueueUrls = response.QueueUrls.map(ownUrl);
    return payload;
  });
  rejectPages(app.server);
  endpoint = await app.listen({ port: 0, host: '127.0.0.1' });
  claimPort(portOf(endpoint));
  return {
    endpoint,
    urlOf,
    async close() {
      await app.close();
      releasePort(portOf(endpoint));
    },
  };
}

// The emulator drops MessageGroupId in a standard queue, so the group is sent as a message attribute.
const GROUP_ATTRIBUTE = 'runner.MessageGroupId';

interface Message {
  MessageGroupId?: string;
  MessageAttributes?: Record<string, { DataType: string; StringValue: string }>;
  MD5OfMessageAttributes?: string;
  Attributes?: Record<string, string>;
  AttributeNames?: string[];
  MessageSystemAttributeNames?: string[];
  MessageAttributeNames?: string[];
}

/**
 * Changes a request so that message groups are preserved. The returned function must get the response.
 * @throws Error if the caller sends attributes with a message
 */
function preserveGroups(action: string, body: unknown): (response: unknown) => void {
  if (action === 'SendMessage' || action === 'SendMessageBatch') {
    const { Entries = [body as Message] } = body as { Entries?: Message[] };
    Entries.forEach(preserveGroup);
    return (response) => {
      // This digest is of the attribute with the group, which the caller has not sent.
      const { Successful = [response as Message] } = response as { Successful?: Message[] };
      for (const sent of Successful) delete sent.MD5OfMessageAttributes;
    };
  }
  if (action !== 'ReceiveMessage') return () => {};
  const request = body as Message;
  const system = [...(request.AttributeNames ?? []), ...(request.MessageSystemAttributeNames ?? [])];
  const showsGroup = system.includes('All') || system.includes('MessageGroupId');
  request.MessageAttributeNames = [GROUP_ATTRIBUTE];
  return (response) => {
    for (const message of (response as { Messages?: Message[] }).Messages ?? []) {
      const group = message.MessageAttributes?.[GROUP_ATTRIBUTE]?.StringValue;
      if (group !== undefined && showsGroup)
        message.Attributes = { ...message.Attributes, MessageGroupId: group };
      delete message.MessageAttributes;
      delete message.MD5OfMessageAttributes;
    }
  };
}

function preserveGroup(message: Message): void {
  if (message.MessageAttributes !== undefined)
    throw Object.assign(new Error('Attributes of a message are not available locally'), { statusCode: 400 });
  if (message.MessageGroupId !== undefined)
    message.MessageAttributes = {
      [GROUP_ATTRIBUTE]: { DataType: 'String', StringValue: message.MessageGroupId },
    };
}
