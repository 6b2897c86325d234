import { randomBytes } from 'node:crypto';
import process from 'node:process';
import type { Credentials } from './signature.ts';

/** ACCESS_KEY:SECRET. Processes with the same value can call each other's runs. */
const shared = process.env.LOCAL_OPERATOR_CREDENTIALS?.split(':');

/** The operator may do everything in the runs of this process. */
export const operatorCredentials: Credentials = {
  accessKeyId: shared?.[0] ?? `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
  secretAccessKey: shared?.[1] ?? randomBytes(30).toString('base64url'),
};
