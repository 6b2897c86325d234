import { Key } from 'aws-cdk-lib/aws-kms';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib/core';
import { Construct } from 'constructs';
import { hour } from './alarms.ts';
import { graph } from './dashboard.ts';
import { webhookRetrySeconds, webhookTimeoutSeconds } from './limits.ts';
import { allOf, type Need, nothing, reads, usesKey, variable } from './needs.ts';
import type { Platform } from './platform.ts';
import { pinLogicalId, removalPolicyOf } from './retention.ts';
import type { ServiceFunction } from './service-function.ts';
import { everyServiceMetric, serviceMetric } from './service-metric.ts';
import type { Settings } from './settings.ts';

export class Webhooks extends Construct {
  readonly deliverer: ServiceFunction;
  readonly accept: Need;

  constructor(scope: Construct, id: string, platform: Platform) {
    super(scope, id);
    const { alarms, settings } = platform;
    const key = new Key(this, 'Key', {
      description: 'Encrypts the secrets of webhooks',
      enableKeyRotation: true,
      // The key decrypts the targets of pending webhooks.
      removalPolicy: removalPolicyOf(settings),
      pendingWindow: Duration.days(30),
    });
    pinLogicalId(key, 'WebhookKey');
    new CfnOutput(Stack.of(this), 'WebhookKeyArn', { value: key.keyArn });
    const rules = rulesOf(settings);
    this.accept = allOf(usesKey('kms:Encrypt', key, 'webhookKey', ['batch']), rules);
    this.deliverer = platform.task(
      'deliver-webhook',
      {
        description: 'Calls the webhook of a batch that has ended',
        // The receiver may take 15 s.
        timeoutSeconds: 60,
        group: 'BatchWork',
        throttlesUnseen: true,
      },
      platform.data(reads, { PutItem: ['batches', 'slotReports'] }),
      platform.pools,
      usesKey('kms:Decrypt', key, 'webhookKey', ['batch']),
      rules,
    );
    alarms.add('WebhooksGivenUp', {
      summary: 'Webhooks were not delivered: every attempt has failed.',
      // An hour, so that a dead receiver of many batches does not raise the alarm again every few minutes.
      metric: serviceMetric(alarms, 'webhooksExhausted', {}, { period: hour }),
      threshold: 1,
    });
  }

  graphs = () => [
    graph('Webhooks', {
      left: [everyServiceMetric(this, 'webhookAttempts', 'outcome')],
      right: [serviceMetric(this, 'webhooksExhausted', {}, { label: 'exhausted' })],
    }),
  ];
}

const rulesOf = (settings: Settings): Need =>
  allOf(
    settings.webhookAllow.length > 0 ? variable('webhookAllow', settings.webhookAllow.join(',')) : nothing,
    allowsPlainLoopback(settings) ? variable('webhookPlainLoopback', 'true') : nothing,
    variable('webhookTimeoutSeconds', webhookTimeoutSeconds),
    variable('webhookRetrySeconds', webhookRetrySeconds.join(',')),
  );

export const allowsPlainLoopback = (settings: Pick<Settings, 'production' | 'webhookAllow'>): boolean =>
  !settings.production && settings.webhookAllow.some((address) => /^(127\.0\.0\.1|\[::1\]):/.test(address));
