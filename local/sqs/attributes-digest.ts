import { createHash } from 'node:crypto';

export interface MessageAttribute {
  readonly DataType: string;
  readonly StringValue?: string;
  /** Base64. */
  readonly BinaryValue?: string;
}

/**
 * MD5OfMessageAttributes: the digest of name, type and value of each attribute, in the order of the names. The length
 * of each part, in four bytes, precedes the part.
 */
export function digestAttributes(attributes: Readonly<Record<string, MessageAttribute>>): string {
  const hash = createHash('md5');
  const part = (bytes: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  };
  for (const name of Object.keys(attributes).sort()) {
    const { DataType = '', StringValue = '', BinaryValue } = attributes[name] ?? {};
    part(Buffer.from(name));
    part(Buffer.from(DataType));
    // One byte for the kind of the value: 1 is text, 2 is binary.
    hash.update(Buffer.from([BinaryValue === undefined ? 1 : 2]));
    part(BinaryValue === undefined ? Buffer.from(StringValue) : Buffer.from(BinaryValue, 'base64'));
  }
  return hash.digest('hex');
}
