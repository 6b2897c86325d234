import { createHash } from 'node:crypto';

// The shortest limit of the services here: a bucket's name has at most 63 characters.
const MAX_LENGTH = 63;

/** A name that depends only on stack and logical id, so that the next run finds the same tables and buckets. */
export function physicalName(stackName: string, logicalId: string): string {
  const name = `${stackName}-${logicalId}`;
  if (name.length <= MAX_LENGTH) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, MAX_LENGTH - 9)}-${digest}`;
}
