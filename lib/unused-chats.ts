import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import type { ChatPurge } from './chat-purge.ts';
import type { ServiceFunction } from './service-function.ts';

/** The next run does the work of a lost one. A throttled run may start until the next one is near. */
const untilNextRun = { retryAttempts: 0, maxEventAge: Duration.minutes(50) };

/** Deletes the unused chats of workspaces with retention: every hour, a part of them. */
export class UnusedChats extends Construct {
  constructor(scope: Construct, id: string, props: { handler: ServiceFunction; purge: ChatPurge }) {
    super(scope, id);
    const { handler, purge } = props;
    purge.isFilledBy(handler);
    new Rule(this, 'Schedule', {
      description: 'Deletes the chats that are unused for longer than their workspace retains them',
      // A pass over the chats of a workspace is once a day. The other runs go on with those that take longer.
      schedule: Schedule.rate(Duration.hours(1)),
      targets: [
        new LambdaFunction(handler.alias, { event: RuleTargetInput.fromObject({}), ...untilNextRun }),
      ],
    });
    handler.alias.configureAsyncInvoke(untilNextRun);
  }
}
