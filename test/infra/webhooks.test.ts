import { expect, test } from 'vitest';
import { allowsPlainLoopback } from '#lib/webhooks.ts';
import { synthesize } from './synthesize.ts';

const { resource, resources, statements } = synthesize();

test('the key of secrets is renewed every year', () => {
  expect(resource('AWS::KMS::Key', 'WebhookKey').Properties).toMatchObject({ EnableKeyRotation: true });
});

test('who takes a secret cannot read it again; who calls webhooks can do nothing else; both name workspace and batch', () => {
  const granted = [...statements].flatMap(([of, all]) =>
    all
      .filter(({ Action }) => JSON.stringify(Action).includes('kms:'))
      .filter((statement) => !JSON.stringify(statement.Resource).includes('ToolSecretKey'))
      .map(({ Action, Resource, Condition }) => ({ of, Action, Resource, Condition })),
  );
  const Resource = { 'Fn::GetAtt': ['WebhookKey', 'Arn'] };
  // KMS decrypts a ciphertext only with the context that it was encrypted with.
  const Condition = {
    StringLike: { 'kms:EncryptionContext:workspace': 'ws_*', 'kms:EncryptionContext:batch': '?*' },
  };
  expect(granted).toHaveLength(2);
  expect(granted).toEqual(
    expect.arrayContaining([
      { of: 'CreateBatch', Action: 'kms:Encrypt', Resource, Condition },
      { of: 'DeliverWebhook', Action: 'kms:Decrypt', Resource, Condition },
    ]),
  );
});

test('no private address may be called in AWS, and the schedule is that of docs/webhooks.md', () => {
  const callers = Object.entries(resources('AWS::Lambda::Function')).filter(([id]) =>
    /^(CreateBatch|DeliverWebhook)/.test(id),
  );
  expect(callers).toHaveLength(2);
  for (const [, { Properties }] of callers) {
    const { Variables } = Properties.Environment as { Variables: Record<string, unknown> };
    expect(Variables).toMatchObject({
      WEBHOOK_RETRY_SECONDS: '5,300,1800,7200,18000,36000,36000',
      WEBHOOK_TIMEOUT_SECONDS: '15',
    });
    expect(Variables).not.toHaveProperty('WEBHOOK_ALLOW');
  }
});

test.each([
  [false, ['127.0.0.1:*'], true],
  [false, ['receiver.internal:443', '[::1]:8080'], true],
  [false, ['receiver.internal:443'], false],
  [false, [], false],
  [true, ['127.0.0.1:*', '[::1]:*'], false],
])(
  'in a stage whose production is %j, webhookAllow %j lets a receiver have plain HTTP: %j',
  (production, webhookAllow, allows) => {
    expect(allowsPlainLoopback({ production, webhookAllow })).toBe(allows);
  },
);
