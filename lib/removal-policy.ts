import { RemovalPolicy } from 'aws-cdk-lib/core';
import type { Settings } from './settings.ts';

/**
 * Whether data, keys and logs are retained when their stack is deleted. Production retains them, except in the rollback
 * of the deployment that creates them: they are empty then, and every failed first deployment would leave more of them.
 */
export const removalPolicyOf = ({ production }: Pick<Settings, 'production'>): RemovalPolicy =>
  production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
