import { createHash } from 'node:crypto';

// The shortest limit of the services here: 63 characters for a bucket.
const LONGEST = 63;

/** A name that depends on stack and logical id alone, so a restart finds its tables and buckets again. */
export function physicalName(stackName: string, logicalId: string): string {
  const name = `${stackName}-${logicalId}`;
  if (name.length <= LONGEST) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, LONGEST - 9)}-${digest}`;
}
