// The emulator drops MessageGroupId in a standard queue, so the group is sent as a message attribute.
const GROUP_ATTRIBUTE = 'runner.MessageGroupId';

interface Sending {
  MessageGroupId?: string;
  MessageAttributes?: Record<string, { DataType: string; StringValue: string }>;
}

interface Receiving {
  AttributeNames?: string[];
  MessageSystemAttributeNames?: string[];
  MessageAttributeNames?: string[];
}

interface Received {
  Attributes?: Record<string, string>;
  MessageAttributes?: Sending['MessageAttributes'];
  MD5OfMessageAttributes?: string;
}

/**
 * Changes a request so that the emulator preserves message groups. Call the returned function with the response.
 * @throws Error for attributes of a message, which the response would not have
 */
export function preserveGroups(action: string, body: unknown): (response: unknown) => void {
  if (action === 'SendMessage' || action === 'SendMessageBatch') {
    const { Entries = [body as Sending] } = body as { Entries?: Sending[] };
    Entries.forEach(preserveGroup);
    return (response) => {
      // The digest is of the group alone.
      const { Successful = [response as Received] } = response as { Successful?: Received[] };
      for (const sent of Successful) delete sent.MD5OfMessageAttributes;
    };
  }
  if (action !== 'ReceiveMessage') return () => {};
  const request = body as Receiving;
  const system = [...(request.AttributeNames ?? []), ...(request.MessageSystemAttributeNames ?? [])];
  const showsGroup = system.includes('All') || system.includes('MessageGroupId');
  request.MessageAttributeNames = [GROUP_ATTRIBUTE];
  return (response) => {
    for (const message of (response as { Messages?: Received[] }).Messages ?? []) {
      const group = message.MessageAttributes?.[GROUP_ATTRIBUTE]?.StringValue;
      if (group !== undefined && showsGroup)
        message.Attributes = { ...message.Attributes, MessageGroupId: group };
      delete message.MessageAttributes;
      delete message.MD5OfMessageAttributes;
    }
  };
}

function preserveGroup(message: Sending): void {
  if (message.MessageAttributes !== undefined)
    throw Object.assign(new Error('Attributes of a message are not available locally'), { statusCode: 400 });
  if (message.MessageGroupId !== undefined)
    message.MessageAttributes = {
      [GROUP_ATTRIBUTE]: { DataType: 'String', StringValue: message.MessageGroupId },
    };
}
