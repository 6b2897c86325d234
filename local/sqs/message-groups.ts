import { digestAttributes, type MessageAttribute } from './attributes-digest.ts';

// The engine forgets the group of a message in a standard queue, so it travels as an attribute of the message.
const STORED_AS = 'runner.MessageGroupId';

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

/** Changes a request on its way to the engine, so that the group is kept; the answer needs what is returned. */
export function storeGroups(action: string, body: unknown): (response: unknown) => void {
  if (action === 'SendMessage') return storeGroup(body as Sending);
  if (action === 'SendMessageBatch') {
    const { Entries = [] } = body as { Entries?: (Sending & { Id?: string })[] };
    const stored = new Map(Entries.map((entry) => [entry.Id, storeGroup(entry)]));
    return (response) => {
      for (const sent of (response as { Successful?: Sent[] }).Successful ?? []) stored.get(sent.Id)?.(sent);
    };
  }
  if (action === 'ReceiveMessage') {
    const request = body as Receiving;
    const wanted = request.MessageAttributeNames ?? [];
    const system = [...(request.AttributeNames ?? []), ...(request.MessageSystemAttributeNames ?? [])];
    if (wanted.length > 0) request.MessageAttributeNames = [...wanted, STORED_AS];
    const showsGroup = system.includes('All') || system.includes('MessageGroupId');
    return (response) => {
      for (const message of (response as { Messages?: Received[] }).Messages ?? []) {
        restoreGroup(message, showsGroup, wanted.length > 0);
      }
    };
  }
  return () => {};
}

function storeGroup(message: Sending): (response: unknown) => void {
  const own = message.MessageAttributes ?? {};
  if (message.MessageGroupId === undefined) return () => {};
  message.MessageAttributes = {
    ...own,
    [STORED_AS]: { DataType: 'String', StringValue: message.MessageGroupId },
  };
  return (response) => setDigest(response as Sent, own);
}

function restoreGroup(message: Received, showsGroup: boolean, showsAttributes: boolean): void {
  const { [STORED_AS]: group, ...own } = message.MessageAttributes ?? {};
  if (group?.StringValue !== undefined && showsGroup) {
    message.Attributes = { ...message.Attributes, MessageGroupId: group.StringValue };
  }
  // AWS shows the attributes that were asked for, the engine all of them when none was.
  const shown = showsAttributes ? own : {};
  if (Object.keys(shown).length > 0) message.MessageAttributes = shown;
  else delete message.MessageAttributes;
  setDigest(message, shown);
}

function setDigest(response: Sent, attributes: Attributes): void {
  if (Object.keys(attributes).length > 0) response.MD5OfMessageAttributes = digestAttributes(attributes);
  else delete response.MD5OfMessageAttributes;
}
