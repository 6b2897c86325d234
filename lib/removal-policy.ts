import { RemovalPolicy } from 'aws-cdk-lib/core';
import type { Settings } from './settings.ts';

/**
 * What becomes of data, keys and logs when their stack goes. Production retains them, except in the rollback of the
 * deployment that creates them: they are empty then, and each attempt of a first deployment would leave others behind.
 */
export const removalPolicyOf = ({ production }: Pick<Settings, 'production'>): RemovalPolicy =>
  production ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
