import { digestAttributes, type MessageAttribute } from './attributes-digest.ts';

// The emulator drops MessageGroupId in a standard queue, so the group is sent as a message attribute.
const GROUP_ATTRIBUTE = 'runner.MessageGroupId';

type Attributes = Record<string, MessageAttribute>;

interface Sending {
  MessageGroupId?: string;
  MessageAttributes?: Attributes;
}

interface Receiving {
  AttributeNames?: string[];
  MessageSystemAttributeNames?: string[];
  MessageAttributeNames?: string[];
}

interface Received {
  Attributes?: Record<string, string>;
  MessageAttributes?: Attributes;
  MD5OfMessageAttributes?: string;
}

interface Sent {
  Id?: string;
  MD5OfMessageAttributes?: string;
}

/** Changes a request so that the emulator preserves message groups. Call the returned function with the response. */
export function preserveGroups(action: string, body: unknown): (response: unknown) => void {
  if (action === 'SendMessage') return preserveGroup(body as Sending);
  if (action === 'SendMessageBatch') {
    const { Entries = [] } = body as { Entries?: (Sending & { Id?: string })[] };
    const restorers = new Map(Entries.map((entry) => [entry.Id, preserveGroup(entry)]));
    return (response) => {
      for (const sent of (response as { Successful?: Sent[] }).Successful ?? [])
        restorers.get(sent.Id)?.(sent);
    };
  }
  if (action === 'ReceiveMessage') {
    const request = body as Receiving;
    const requestedNames = request.MessageAttributeNames ?? [];
    const system = [...(request.AttributeNames ?? []), ...(request.MessageSystemAttributeNames ?? [])];
    if (requestedNames.length > 0) request.MessageAttributeNames = [...requestedNames, GROUP_ATTRIBUTE];
    const showsGroup = system.includes('All') || system.includes('MessageGroupId');
    return (response) => {
      for (const message of (response as { Messages?: Received[] }).Messages ?? []) {
        restoreGroup(message, showsGroup, requestedNames.length > 0);
      }
    };
  }
  return () => {};
}

function preserveGroup(message: Sending): (response: unknown) => void {
  const attributes = message.MessageAttributes ?? {};
  if (message.MessageGroupId === undefined) return () => {};
  message.MessageAttributes = {
    ...attributes,
    [GROUP_ATTRIBUTE]: { DataType: 'String', StringValue: message.MessageGroupId },
  };
  return (response) => setDigest(response as Sent, attributes);
}

function restoreGroup(message: Received, showsGroup: boolean, showsAttributes: boolean): void {
  const { [GROUP_ATTRIBUTE]: group, ...attributes } = message.MessageAttributes ?? {};
  if (group?.StringValue !== undefined && showsGroup) {
    message.Attributes = { ...message.Attributes, MessageGroupId: group.StringValue };
  }
  // AWS returns only requested attributes. The emulator returns all attributes if none was requested.
  const shown = showsAttributes ? attributes : {};
  if (Object.keys(shown).length > 0) message.MessageAttributes = shown;
  else delete message.MessageAttributes;
  setDigest(message, shown);
}

function setDigest(response: Sent, attributes: Attributes): void {
  if (Object.keys(attributes).length > 0) response.MD5OfMessageAttributes = digestAttributes(attributes);
  else delete response.MD5OfMessageAttributes;
}
