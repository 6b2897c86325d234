import { describe, expect, it } from 'vitest';
import { summaryOf } from '#support/open-tenant.ts';
import { useService } from '#support/use-service.ts';
import { openWebhookTenant } from '#support/webhook-batches.ts';

// No private address is allowed, as in AWS.
const service = await useService({ variables: { WEBHOOK_ALLOW: '', WEBHOOK_PLAIN_LOOPBACK: 'false' } });
const tenant = await openWebhookTenant(service);

describe('the address of a webhook', () => {
  const rejectionOf = async (url: string) => summaryOf(await tenant.submit({ url }));

  it('is refused when it is not public, and no batch is made', async () => {
    for (const host of [
      '127.0.0.1:8443',
      'localhost:8443',
      '10.1.2.3',
      '172.16.0.1',
      '192.168.1.1',
      '169.254.169.254',
      '100.64.0.1',
      '224.0.0.1',
      '0.0.0.0',
      '255.255.255.255',
      '2130706433',
      '0x7f.1',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '[fe80::1]',
      '[fd00::1]',
      '[64:ff9b::a00:1]',
    ])
      expect(await rejectionOf(`https://${host}/hook`), host).toBe(
        '400/10006 webhook.url: The address is not allowed',
      );
    const { body } = await tenant.client.get('/batches');
    expect(body.data).toEqual([]);
  });

  it('is refused when it is not HTTPS, or holds what a URL of a webhook must not', async () => {
    for (const url of ['http://example.com/', 'ftp://example.com/', 'example.com', ''])
      expect(await rejectionOf(url), url).toBe('400/10006 webhook.url must be an https URL');
    for (const url of ['http://127.0.0.1:8080/', 'http://[::1]/'])
      expect(await rejectionOf(url), url).toBe('400/10006 webhook.url: The address must be an https URL');
    for (const user of ['user:password', 'user', ':password', ''])
      expect(await rejectionOf(`https://${user}@example.com/`), user).toBe(
        '400/10006 webhook.url must be an https URL without a user name and password',
      );
  });

  it.each([
    'https:/example.com/hook',
    'https:example.com/hook',
    'https:///example.com/hook',
    'https:\\\\example.com/hook',
    'https://example.com\\hook',
    ' https://example.com/hook',
    'https://example.com/hook ',
    'https://example.com/ho ok',
    'https://exam\tple.com/hook',
    'https://example.com/hook\n',
    'ht\rtps://example.com/hook',
    'https://example.com/hook\0',
    '\ufeffhttps://example.com/hook',
  ])('is refused when a parser has to repair it: %j', async (url) => {
    expect(await rejectionOf(url)).toMatch(
      /^400\/10006 webhook\.url must be (an https URL|written as https:\/\/HOST, without blanks and backslashes)$/,
    );
  });

  it.each([
    'HTTPS://Nowhere.invalid/%20?a=%5C#b',
    'https://nowhere.invalid:8443',
    'https://nowhere.invalid/hook',
    'https://nowhere.invalid/?mail=a@b',
    'https://bücher.invalid/straße',
  ])('is taken as it is written: %s', async (url) => {
    expect((await tenant.submit({ url })).status).toBe(202);
  });

  it.each([0, 25, 10_080])('is refused at port %i, which OpenAPI lists', async (port) => {
    expect(await rejectionOf(`https://example.com:${port}/`)).toBe(
      `400/10006 webhook.url: The port ${port} is not allowed`,
    );
  });

  it('comes with events and a secret that are as they should be', async () => {
    const url = 'https://nowhere.invalid/';
    const rejections = [
      { url, events: ['in_progress'] },
      { url, secret: '' },
      { url, secret: 'x'.repeat(256) },
      { events: ['completed'] },
    ];
    for (const webhook of rejections)
      expect(summaryOf(await tenant.submit(webhook as never))).toMatch(/^400\/10006 webhook\./);
    expect((await tenant.submit({ url, secret: '🔑'.repeat(255) })).status).toBe(202);
  });
});
