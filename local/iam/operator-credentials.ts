import { randomBytes } from 'node:crypto';
import process from 'node:process';
import type { Credentials } from './signature.ts';

/** ACCESS_KEY:SECRET. Processes that share a run, such as those of tests, get the same credentials by this variable. */
const shared = process.env.LOCAL_OPERATOR_CREDENTIALS?.split(':');

/**
 * The credentials of the operator of this process's runs, who may do everything. Random, unless the variable is set.
 */
export const operatorCredentials: Credentials = {
  accessKeyId: shared?.[0] ?? `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
  secretAccessKey: shared?.[1] ?? randomBytes(30).toString('base64url'),
};
