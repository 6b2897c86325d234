import { randomBytes } from 'node:crypto';
import process from 'node:process';
import type { Credentials } from './signature.ts';

/** ACCESS_KEY:SECRET. Processes with the same value, such as those of tests, can call each other's runs. */
const shared = process.env.LOCAL_OPERATOR_CREDENTIALS?.split(':');

/**
 * The credentials of the operator, who may do everything in the runs of this process. Random, unless
 * LOCAL_OPERATOR_CREDENTIALS is set.
 */
export const operatorCredentials: Credentials = {
  accessKeyId: shared?.[0] ?? `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
  secretAccessKey: shared?.[1] ?? randomBytes(30).toString('base64url'),
};
