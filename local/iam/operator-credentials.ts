import { randomBytes } from 'node:crypto';
import process from 'node:process';
import type { Credentials } from './signature.ts';

/** ACCESS_KEY:SECRET, where several processes work on one run and each starts before it can be told, as tests do. */
const given = process.env.LOCAL_OPERATOR_CREDENTIALS?.split(':');

/** What whoever operates the runs of this process signs with: it may do everything. Drawn for each process. */
export const operatorCredentials: Credentials = {
  accessKeyId: given?.[0] ?? `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
  secretAccessKey: given?.[1] ?? randomBytes(30).toString('base64url'),
};
