import { distributions } from '../cloudfront/distributions.ts';
import { tables } from '../dynamodb/tables.ts';
import { restApi } from '../gateway/rest-api.ts';
import { policies } from '../iam/policies.ts';
import { keys } from '../kms/keys.ts';
import { functions } from '../lambda/functions.ts';
import { permissions } from '../lambda/permissions.ts';
import { webFunctions } from '../lambda/web-functions.ts';
import { buckets } from '../s3/buckets.ts';
import { schedules } from '../schedules/schedules.ts';
import { secrets } from '../secrets/secrets.ts';
import { eventSources } from '../sqs/event-sources.ts';
import { queues } from '../sqs/queues.ts';
import { stateMachines } from '../step-functions/state-machines.ts';
import type { ResourceKind } from './resource-kind.ts';

/**
 * Kinds start in this order and close in the reverse order, so that callers stop before the services that they call.
 * Functions and state machines may call each other: state machines stop first.
 */
export const resourceKinds: readonly ResourceKind[] = [
  policies,
  keys,
  tables,
  buckets,
  secrets,
  queues,
  functions,
  webFunctions,
  permissions,
  stateMachines,
  eventSources,
  schedules,
  restApi,
  distributions,
];
