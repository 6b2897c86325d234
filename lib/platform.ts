import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Annotations, type Stack } from 'aws-cdk-lib/core';
import { formatLimits } from '#contract/rate-limits.ts';
import { type RouteName, routes } from '#contract/routes.ts';
import { Alarms } from './alarms.ts';
import type { FunctionBundles } from './bundles/function-bundles.ts';
import { type ConcurrencyPlan, planConcurrency, uploadsPerEnvironment } from './concurrency.ts';
import { type FunctionName, pascalCase, type TaskName } from './function-names.ts';
import { type Need, type ObjectAction, type ReadAction, usesObjects, usesTable, variable } from './needs.ts';
import { ServiceFunction } from './service-function.ts';
import type { Settings } from './settings.ts';
import { createContentBucket, createFileBucket, createTable, watchTable } from './storage.ts';
import { Trust } from './trust.ts';
import type { Writes } from './written-items.ts';

type AlarmGroup = 'Chat' | 'FileAndDeletion' | 'Completion' | 'BatchRoute' | 'BatchWork';

interface Task {
  description: string;
  timeoutSeconds: number;
  memoryMegabytes?: number;
  group?: AlarmGroup;
  /**
   * Adds the function to the alarm for throttled calls, because the gateway does not show them, or because every route
   * of the gateway needs the function.
   */
  throttlesUnseen?: true;
}

export const limited: Writes = { UpdateItem: ['rateBuckets'] };

export class Platform {
  readonly stack: Stack;
  readonly settings: Settings;
  readonly bundles: FunctionBundles;
  readonly concurrency: ConcurrencyPlan;
  readonly table: ITableV2;
  readonly contentBucket: Bucket;
  readonly fileBucket: Bucket;
  readonly trust: Trust;
  readonly alarms: Alarms;
  readonly functions = new Map<FunctionName, ServiceFunction>();
  readonly groups = new Map<AlarmGroup, FunctionName[]>();
  readonly throttledUnseen: FunctionName[] = [];

  constructor(stack: Stack, settings: Settings, bundles: FunctionBundles) {
    this.stack = stack;
    this.settings = settings;
    this.bundles = bundles;
    this.concurrency = planConcurrency(settings);
    if (this.concurrency.warning !== undefined)
      Annotations.of(stack).addWarningV2('agent-service:nothing-reserved', this.concurrency.warning);
    this.table = createTable(stack, settings);
    this.contentBucket = createContentBucket(stack, settings);
    this.fileBucket = createFileBucket(stack, settings);
    this.trust = new Trust(stack, settings);
    this.alarms = new Alarms(stack, 'Alarms', settings);
    watchTable(this.alarms, this.table);
  }

  routes =
    (group: AlarmGroup) =>
    (name: RouteName, ...needs: readonly Need[]): ServiceFunction => {
      const { summary: description, timeoutSeconds } = routes[name];
      return this.create(name, { description, timeoutSeconds, group }, needs);
    };

  task(name: TaskName, { throttlesUnseen, ...task }: Task, ...needs: readonly Need[]): ServiceFunction {
    if (throttlesUnseen) this.throttledUnseen.push(name);
    return this.create(name, task, needs);
  }

  data = (reads: readonly ReadAction[], writes: Writes = {}): Need => usesTable(this.table, reads, writes);

  content = (...actions: ObjectAction[]): Need => usesObjects(this.contentBucket, 'contentBucket', actions);

  files = (...actions: ObjectAction[]): Need => usesObjects(this.fileBucket, 'fileBucket', actions);

  /** Functions with this need must also read and write `slotReports`. */
  get pools(): Need {
    const { concurrency, settings } = this;
    return variable(
      'poolSizes',
      JSON.stringify({
        replies: settings.webEnvironments * settings.requestsPerEnvironment,
        uploads: settings.webEnvironments * uploadsPerEnvironment(settings),
        readers: concurrency.shortRoutes,
        preparations: concurrency.preparations,
        webhooks: concurrency.webhooks,
      }),
    );
  }

  // A year, and 35 days to read the usage before it expires.
  readonly usage = variable('usageDays', 400);

  get stageLimits(): Need {
    return variable('stageLimits', formatLimits(this.settings.rateLimits));
  }

  private create(name: FunctionName, { group, ...task }: Task, needs: readonly Need[]): ServiceFunction {
    // A child of the stack, so its logical id does not depend on the capability that creates it.
    const handler = new ServiceFunction(this.stack, pascalCase(name), {
      ...task,
      codeFolder: this.bundles.folderOf(name),
      reservedExecutions: this.concurrency.reserved.get(name),
      settings: this.settings,
    });
    for (const need of needs) need(handler);
    this.functions.set(name, handler);
    if (group !== undefined) this.groups.set(group, [...(this.groups.get(group) ?? []), name]);
    return handler;
  }
}
