import { Duration } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { routes } from '#contract/routes.ts';
import type { Agents } from './agents.ts';
import { formula, sumOf } from './alarms.ts';
import { chatRoutes, entryPointsOfChats } from './chat-routes.ts';
import { graph } from './dashboard.ts';
import { gets, type Need, reads } from './needs.ts';
import { limited, type Platform } from './platform.ts';
import { serviceMetric } from './service-metric.ts';
import type { Uploads } from './uploads.ts';
import { WebServer } from './web-server.ts';
import type { Writes } from './written-items.ts';

export const chatCreations = {
  PutItem: ['chats', 'chatLists', 'users'],
  UpdateItem: ['chatLists', 'lastNumbers', 'users'],
} as const satisfies Writes;

/** If a client reads a list slowly, the function takes and reports a slot of the pool `readers`. */
export const listed: Writes = { ...limited, PutItem: ['slotReports'] };

/** Without `tooLong`: a request that is too long is no fault of the model. */
const modelFailures = ['throttled', 'unavailable', 'refused', 'failed', 'stalled', 'slow'] as const;

const firstDeltaSeconds = 10;

/** Below this number of replies, one of them is more than the 5 % that may be late. */
const fewReplies = 20;

export class Chats extends Construct {
  readonly server: WebServer | undefined;

  constructor(
    scope: Construct,
    id: string,
    platform: Platform,
    { agents, uploads }: { agents: Agents; uploads: Uploads },
  ) {
    super(scope, id);
    const replies = [
      platform.content('GetObject', 'ListBucket', 'PutObject', 'DeleteObject'),
      agents.reply,
      uploads.attach,
      platform.pools,
      platform.usage,
    ];
    const { functions, webFunction } = entryPointsOfChats(platform.settings);
    this.createRoutes(platform);
    if (functions) this.createChatRoutes(platform, replies);
    this.server = webFunction ? this.createServer(platform, replies) : undefined;
    this.watchReplies(platform);
  }

  private createRoutes(platform: Platform): void {
    const route = platform.routes('Chat');
    const { checksOrigin } = platform.trust;
    route('list-published-agents', platform.data(reads, listed), platform.pools);
    route('list-chats', platform.data(reads, listed), checksOrigin, platform.pools);
    route('rename-chat', platform.data(gets, { UpdateItem: ['chats', 'rateBuckets'] }));
    route(
      'list-messages',
      platform.data(reads, listed),
      platform.content('GetObject'),
      platform.files('GetObject'),
      checksOrigin,
      platform.pools,
    );
    route('stop-reply', platform.data(gets, { UpdateItem: ['chats', 'rateBuckets'] }));
    route(
      'record-feedback',
      platform.data(['GetItem', 'BatchGetItem', 'ConditionCheckItem'], {
        PutItem: ['chats', 'users'],
        UpdateItem: ['chats', 'rateBuckets'],
      }),
    );
  }

  private createChatRoutes(platform: Platform, replies: readonly Need[]): void {
    const route = platform.routes('Chat');
    route(
      'create-chat',
      platform.data(gets, {
        PutItem: [...chatCreations.PutItem, 'idempotencyRecords'],
        UpdateItem: [...chatCreations.UpdateItem, 'rateBuckets'],
      }),
    );
    route(
      'send-message',
      platform.data(reads, {
        PutItem: ['chats', 'idempotencyRecords', 'slotReports'],
        UpdateItem: ['chats', 'files', 'rateBuckets', 'usage'],
        // For index items of attached files that are erased meanwhile.
        DeleteItem: ['chats', 'files'],
      }),
      ...replies,
    );
    route('resume-stream', platform.data(reads, limited));
  }

  private createServer(platform: Platform, replies: readonly Need[]): WebServer {
    return new WebServer(this, 'Default', {
      function: 'serve-chats',
      platform,
      needs: [
        platform.data(reads, {
          PutItem: [...chatCreations.PutItem, 'idempotencyRecords', 'slotReports'],
          UpdateItem: ['chats', ...chatCreations.UpdateItem, 'files', 'rateBuckets', 'usage'],
          DeleteItem: ['chats', 'files'],
        }),
        ...replies,
        platform.trust.signsCallers,
      ],
      timeout: Duration.seconds(Math.max(...chatRoutes.map((name) => routes[name].timeoutSeconds))),
      requestsPerEnvironment: platform.settings.requestsPerEnvironment,
      publicReason: 'Every request must have a caller that the authorizer has signed.',
    });
  }

  private watchReplies({ alarms }: Platform): void {
    const countOf = (route: 'send-message' | 'complete-chat') =>
      serviceMetric(this, 'replyTime', { route }, { statistic: 'SampleCount' });
    const failures = sumOf(
      Object.fromEntries(
        modelFailures.map((failure) => [failure, serviceMetric(this, 'modelFailures', { failure })]),
      ),
    );
    // Contains `failures`, because no other term has the failed replies of batches.
    const replies = sumOf({
      failures,
      sends: countOf('send-message'),
      completions: countOf('complete-chat'),
      ofBatches: serviceMetric(this, 'batchRequestsDone', {}),
    });
    alarms.add('ModelErrors', {
      summary: 'More than 5 % of the replies fail because of models, after all retries.',
      metric: formula('IF(failures < 5, 0, 100 * failures / replies)', { failures, replies }),
      threshold: 5,
      periods: [2, 3],
    });
    const firstDelta = (statistic: string) =>
      serviceMetric(this, 'timeToFirstDelta', { route: 'send-message' }, { statistic });
    alarms.add('FirstDeltaSlow', {
      summary: `5 % of the replies start later than after ${firstDeltaSeconds} s; of fewer than ${fewReplies} in five minutes, half of them.`,
      metric: formula(`IF(replies < 3, 0, IF(replies < ${fewReplies}, p50, p95))`, {
        replies: firstDelta('SampleCount'),
        p50: firstDelta('p50'),
        p95: firstDelta('p95'),
      }),
      threshold: firstDeltaSeconds * 1000,
      periods: [3, 3],
    });
  }

  graphs = () => [
    graph('Time to the first delta, ms', {
      left: ['p50', 'p95', 'p99'].map((statistic) =>
        serviceMetric(this, 'timeToFirstDelta', { route: 'send-message' }, { statistic, label: statistic }),
      ),
      right: [
        serviceMetric(
          this,
          'timeToFirstDelta',
          { route: 'complete-chat' },
          { statistic: 'p95', label: 'OpenAI clients, p95' },
        ),
      ],
    }),
  ];
}
