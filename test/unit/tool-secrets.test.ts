import { describe, expect, it } from 'vitest';
import { ReplyScope, type ReplyUse } from '#agents/tools/agent-tool.ts';
import { fillIn } from '#agents/tools/remote/pinned-tool.ts';
import { remoteFields, toolAuth } from '#contract/tools.ts';
import { credentialOf, redactor, SecretValues, type ToolSecret } from '#domain/tools/tool-secret.ts';
import { manualClock } from '#support/manual-clock.ts';

const hosts = ['mcp.crm.example:443'];
const url = new URL('https://mcp.crm.example/mcp');
const signal = new AbortController().signal;
const noTokens = () => expect.unreachable();

function open() {
  const clock = manualClock();
  const stored = new Map<string, ToolSecret>();
  const reads: string[] = [];
  const set = (workspaceId: string, value: string, bound = hosts) =>
    stored.set(workspaceId, {
      ...{ name: 'crm', hosts: bound, updatedAt: '' },
      encrypted: JSON.stringify([value, workspaceId, 'crm', bound]),
    });
  const values = new SecretValues({
    clock,
    toolSecrets: { get: async (workspaceId: string) => stored.get(workspaceId) } as never,
    toolSecretCipher: {
      encrypt: () => expect.unreachable(),
      async decrypt(encrypted, owner) {
        reads.push(owner.workspaceId);
        const [value, ...context] = JSON.parse(encrypted);
        // As KMS does it.
        expect([owner.workspaceId, owner.name, owner.hosts]).toEqual(context);
        return value;
      },
    },
  });
  return { clock, stored, reads, set, values };
}

describe('a secret', () => {
  it('is read once in five minutes, and anew after a rejection', async () => {
    const { clock, reads, set, values } = open();
    const read = () => values.valueFor('ws', 'crm', url);
    set('ws', 'first value');
    const first = await read();
    expect(first.value).toBe('first value');
    set('ws', 'second value');
    expect(await read()).toMatchObject({ value: 'first value' });
    first.forget();
    expect(await read()).toMatchObject({ value: 'second value' });
    // A late rejection of the first value does not drop the second.
    first.forget();
    set('ws', 'third value');
    expect(await read()).toMatchObject({ value: 'second value' });
    await clock.advance(5 * 60_000 + 1);
    expect(await read()).toMatchObject({ value: 'third value' });
    expect(reads).toHaveLength(3);
  });

  it.each([
    'https://mcp.crm.example:8443/mcp',
    'https://crm.example/mcp',
    'https://mcp.crm.example.evil.example/',
    'http://mcp.crm.example/mcp',
  ])('is not for %s', async (other) => {
    const { set, values } = open();
    set('ws', 'the value');
    await expect(values.valueFor('ws', 'crm', new URL(other))).rejects.toThrow('is not for the host');
  });

  it('of another workspace, with edited hosts, or that was removed is not found', async () => {
    const { set, stored, values } = open();
    await expect(values.valueFor('ws', 'crm', url)).rejects.toThrow('no secret');
    set('ws', 'the value', ['other.example:443']);
    const { encrypted = '' } = stored.get('ws') ?? {};
    stored.set('ws', { name: 'crm', hosts, encrypted, updatedAt: '' });
    await expect(values.valueFor('ws', 'crm', url)).rejects.toThrow();
    stored.set('other', { name: 'crm', hosts, encrypted, updatedAt: '' });
    await expect(values.valueFor('other', 'crm', url)).rejects.toThrow();
  });
});

describe('a credential', () => {
  const value = 'pass/word+1 é"'.replace('é', 'e');
  it.each([
    [{ type: 'bearer' }, { headers: { Authorization: `Bearer ${value}` } }],
    [{ type: 'header', name: 'X-Key', prefix: 'k ' }, { headers: { 'X-Key': `k ${value}` } }],
    [
      { type: 'basic', username: 'ada' },
      { headers: { Authorization: `Basic ${Buffer.from(`ada:${value}`).toString('base64')}` } },
    ],
    [{ type: 'query', name: 'key' }, { query: { key: value } }],
  ])('is made and removed from what the server repeats: %o', async (auth, expected) => {
    const { set, values } = open();
    set('ws', value);
    const parsed = toolAuth.parse({ ...auth, secret: 'crm' });
    const credential = await credentialOf(values, parsed, { workspaceId: 'ws', url, signal }, noTokens);
    expect(credential).toMatchObject(expected);
    const redact = redactor(credential.secrets);
    const sent = [...Object.values(credential.headers), ...Object.values(credential.query)];
    const echoed = [
      ...sent,
      JSON.stringify({ sent }),
      ...sent.map((text) => encodeURIComponent(text)),
      ...sent.map((text) => encodeURIComponent(text).toLowerCase()),
      new URLSearchParams({ sent: sent.join() }).toString(),
      Buffer.from(value).toString('base64url'),
    ];
    const shown = JSON.stringify(redact({ echoed, [value]: [{ deep: value }] }));
    expect(shown.match(/\[secret\]/g)?.length).toBeGreaterThanOrEqual(echoed.length);
    for (const form of [value, encodeURIComponent(value), Buffer.from(value).toString('base64').slice(0, 16)])
      expect(shown.toLowerCase()).not.toContain(form.toLowerCase());
  });

  it('is no header of the protocol, and no plain header is a credential', () => {
    const header = (name: string) => toolAuth.safeParse({ type: 'header', name, secret: 'crm' }).success;
    expect(['X-Api-Key', 'Authorization', 'Cookie'].map(header)).toEqual([true, true, true]);
    expect(['Host', 'Mcp-Session-Id', 'X-Agent-Depth', 'a b', 'x\n'].map(header)).toEqual(
      Array(5).fill(false),
    );
    const plain = (name: string, value = '1') => remoteFields.headers.safeParse({ [name]: value }).success;
    expect(plain('X-Tenant')).toBe(true);
    expect(['X-Api-Key', 'Authorization', 'X-Token', 'Host', 'mcp-x'].map((name) => plain(name))).toEqual(
      Array(5).fill(false),
    );
    expect(plain('X-Tenant', 'a\r\nb')).toBe(false);
  });
});

describe('a placeholder', () => {
  const use = (externalUserId: string | null) =>
    ({ chat: { id: 7, externalUserId }, agents: [{ workspaceId: 'ws_1' }] }) as unknown as ReplyUse;
  it('is filled in, percent-encoded', () => {
    expect(fillIn('{{external_user_id}}/{{chat_id}}/{{workspace_id}}/{{other}}', use('a b\r\n&/'))).toBe(
      'a%20b%0D%0A%26%2F/7/ws_1/{{other}}',
    );
  });

  it('without a value sends nothing', () => {
    expect(() => fillIn('{{external_user_id}}', use(null))).toThrow(
      'It needs the external_user_id of a chat',
    );
    expect(() => fillIn('{{chat_id}}', { ...use(null), chat: null })).toThrow('It needs the chat_id');
  });
});

it('what a reply shares is opened once, and closed in reverse', async () => {
  const scope = new ReplyScope();
  const closed: string[] = [];
  const open = (name: string) => () => ({
    close() {
      closed.push(name);
      if (name === 'session') throw new Error('The server is gone');
    },
  });
  const pool = scope.get('pool', open('pool'));
  scope.get('session', open('session'));
  expect(scope.get('pool', open('another'))).toBe(pool);
  await scope.close();
  expect(closed).toEqual(['session', 'pool']);
});
