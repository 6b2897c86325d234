import { describe, expect, it } from 'vitest';
import type { Limits, RateLimit } from '#contract/rate-limits.ts';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import { dayOf } from '#domain/workspaces/usage.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;
const now = (): string => clock.now().toISOString();

const workspaceWith = (changes: Partial<Workspace> = {}): Workspace => ({
  id: newId('ws'),
  name: 'Bakery',
  enabled: true,
  whitelistEnabled: false,
  titlesEnabled: true,
  openAiEnabled: false,
  retentionDays: null,
  limits: 'default',
  ownLimits: {},
  createdAt: now(),
  ...changes,
});

const perSecond: RateLimit = { count: 20, seconds: 1, burst: 40 };
const perMinute: RateLimit = { count: 10, seconds: 60, burst: 10 };

describe('a workspace', () => {
  const put = async (changes: Partial<Workspace> = {}): Promise<Workspace> => {
    const workspace = workspaceWith(changes);
    await stores.workspaces.put(workspace);
    return workspace;
  };

  it('is read as it was stored', async () => {
    const ownLimits: Limits = {
      reads: perSecond,
      writes: perMinute,
      sends: { count: 1, seconds: 3600, burst: 2 },
      uploads: null,
      batches: perMinute,
      uploadedMegabytes: { count: 100, seconds: 86_400, burst: 100 },
      batchRequests: null,
      modelCalls: perSecond,
      downloadedMegabytes: perMinute,
      openBatches: 3,
    };
    for (const workspace of [
      workspaceWith({ ownLimits, whitelistEnabled: true, limits: 'none' }),
      workspaceWith({
        ...{ ownLimits: { openBatches: null }, enabled: false, titlesEnabled: false, openAiEnabled: true },
      }),
    ]) {
      expect(await stores.workspaces.get(workspace.id)).toBeUndefined();
      await stores.workspaces.put(workspace);
      expect(await stores.workspaces.get(workspace.id)).toEqual(workspace);
    }
  });

  it('is in the list, by id', async () => {
    const [first, second, third] = [workspaceWith(), workspaceWith(), workspaceWith()];
    for (const workspace of [second, third, first]) await stores.workspaces.put(workspace);
    await stores.workspaces.update(second.id, { enabled: false });
    const own = new Set([first.id, second.id, third.id]);
    const listed = (await stores.workspaces.list()).filter(({ id }) => own.has(id));
    expect(listed).toEqual([first, { ...second, enabled: false }, third]);
  });

  it('changes only where an update says so', async () => {
    const workspace = await put();
    const other = await put();
    const changes = {
      ...{ name: 'Cakes', enabled: false, titlesEnabled: false, openAiEnabled: true },
      limits: 'none',
    } as const;
    const renewed = { ...workspace, ...changes };
    expect(await stores.workspaces.update(workspace.id, changes)).toEqual(renewed);
    expect(await stores.workspaces.update(workspace.id, { whitelistEnabled: true })).toEqual({
      ...renewed,
      whitelistEnabled: true,
    });
    expect(await stores.workspaces.get(workspace.id)).toEqual({ ...renewed, whitelistEnabled: true });
    expect(await stores.workspaces.get(other.id)).toEqual(other);
  });

  it('changes only the given limits, and gets those of the stage back', async () => {
    const { id } = await put({ ownLimits: { reads: perSecond, sends: perMinute, openBatches: 3 } });
    const ownLimitsAfter = async (ownLimits: Parameters<typeof stores.workspaces.update>[1]['ownLimits']) =>
      (await stores.workspaces.update(id, ownLimits === undefined ? {} : { ownLimits }))?.ownLimits;
    expect(await ownLimitsAfter({ reads: 'stage', sends: null, uploads: perSecond })).toEqual({
      sends: null,
      uploads: perSecond,
      openBatches: 3,
    });
    expect(await ownLimitsAfter({ openBatches: null, reads: 'stage' })).toMatchObject({ openBatches: null });
    expect(await ownLimitsAfter({ sends: 'stage', uploads: 'stage', openBatches: 'stage' })).toEqual({});
  });

  it('may get different changes at once', async () => {
    const workspace = await put();
    await Promise.all([
      stores.workspaces.update(workspace.id, { enabled: false }),
      stores.workspaces.update(workspace.id, { ownLimits: { reads: perSecond } }),
      stores.workspaces.update(workspace.id, { ownLimits: { writes: perMinute } }),
    ]);
    expect(await stores.workspaces.get(workspace.id)).toEqual({
      ...workspace,
      enabled: false,
      ownLimits: { reads: perSecond, writes: perMinute },
    });
  });

  it('is not created by an update', async () => {
    const id = newId('ws');
    expect(await stores.workspaces.update(id, { enabled: false })).toBeUndefined();
    expect(await stores.workspaces.get(id)).toBeUndefined();
    expect((await stores.workspaces.list()).map((listed) => listed.id)).not.toContain(id);
    expect(await auditEntriesOf(stores.auditLog, id)).toEqual([]);
  });

  it('has what an update changes in the audit log', async () => {
    const { id } = await put({ whitelistEnabled: true, ownLimits: { reads: perSecond } });
    await clock.advance(1000);
    const ownLimits = { sends: null };
    await stores.workspaces.update(id, { enabled: false, whitelistEnabled: true, ownLimits });
    for (const nothing of [{}, { ownLimits: {} }])
      expect(await stores.workspaces.update(id, nothing)).toMatchObject({ enabled: false });
    const entries = await auditEntriesOf(stores.auditLog, id);
    expect(entries.slice(1)).toMatchObject([{ at: now(), action: 'workspace updated', target: id }]);
    expect(entries[1]?.changes).toEqual({
      enabled: { from: true, to: false },
      ownLimits: { from: { reads: perSecond }, to: ownLimits },
    });
  });
});

describe('a whitelist', () => {
  const isListed = (workspaceId: string, users: readonly string[]): Promise<boolean[]> =>
    Promise.all(users.map((user) => stores.workspaces.isListed(workspaceId, user)));

  it('has the users that were added and not removed', async () => {
    const id = newId('ws');
    expect(await isListed(id, ['ada', 'Zoë #2'])).toEqual([false, false]);
    await stores.workspaces.addToWhitelist(id, ['ada', 'Zoë #2', 'ada']);
    await stores.workspaces.addToWhitelist(id, ['ada']);
    expect(await isListed(id, ['ada', 'Zoë #2', 'Ada', 'zoë #2'])).toEqual([true, true, false, false]);
    await stores.workspaces.removeFromWhitelist(id, ['ada', 'ada', 'unknown']);
    await stores.workspaces.removeFromWhitelist(id, ['ada']);
    expect(await isListed(id, ['ada', 'Zoë #2'])).toEqual([false, true]);
  });

  // More than the 100 writes of one transaction.
  it('takes 120 users at once', async () => {
    const id = newId('ws');
    const users = Array.from({ length: 120 }, (_, index) => `user ${1000 + index}`);
    await stores.workspaces.addToWhitelist(id, users);
    expect(await isListed(id, users)).toEqual(users.map(() => true));
    const listed = await Array.fromAsync(stores.workspaces.listed(id));
    expect(listed.flat().toSorted()).toEqual(users.toSorted());
    await clock.advance(1000);
    await stores.workspaces.removeFromWhitelist(id, users);
    expect(await isListed(id, users)).toEqual(users.map(() => false));
    const entries = await auditEntriesOf(stores.auditLog, id);
    const named = (wanted: string) =>
      entries
        .filter(({ action, target }) => action === wanted && target === id)
        .flatMap(({ changes }) => changes.users as string[])
        .toSorted();
    // Each user has one hash, which does not show the user.
    const hashes = named('whitelist extended');
    expect(new Set(hashes).size).toBe(120);
    for (const hash of hashes) expect(hash).toMatch(/^user_[\da-f]{32}$/);
    expect(named('whitelist reduced')).toEqual(hashes);
    await stores.workspaces.addToWhitelist(`${id}-other`, users);
    const others = await auditEntriesOf(stores.auditLog, `${id}-other`);
    expect(others.flatMap(({ changes }) => changes.users)).not.toContain(hashes[0]);
  });

  it('needs no audit entry for no user', async () => {
    const id = newId('ws');
    await stores.workspaces.addToWhitelist(id, []);
    await stores.workspaces.removeFromWhitelist(id, []);
    expect(await auditEntriesOf(stores.auditLog, id)).toEqual([]);
  });
});

const keyWith = (changes: Partial<ApiKey> = {}): ApiKey => {
  const id = newId('key');
  return {
    id,
    workspaceId: newId('ws'),
    hash: `hash of ${id}`,
    prefix: 'ak_1234',
    lastFour: 'wxyz',
    name: 'Web shop',
    createdAt: now(),
    expiresAt: null,
    revokedAt: null,
    lastUsedOn: null,
    ...changes,
  };
};

describe('an API key', () => {
  const put = async (changes: Partial<ApiKey> = {}): Promise<ApiKey> => {
    const key = keyWith(changes);
    await stores.apiKeys.put(key);
    return key;
  };
  const signal = AbortSignal.any([]);
  const actionsOf = async ({ workspaceId }: ApiKey): Promise<string[]> =>
    (await auditEntriesOf(stores.auditLog, workspaceId)).map(({ action }) => action);

  it('is in the list of its workspace, in order of creation', async () => {
    const workspaceId = newId('ws');
    const third = await put({ workspaceId, createdAt: '2027-01-03T00:00:00.000Z' });
    const first = await put({ workspaceId, createdAt: '2027-01-01T00:00:00.000Z' });
    await put();
    const second = await put({ workspaceId, createdAt: '2027-01-02T00:00:00.000Z' });
    expect(await stores.apiKeys.list(workspaceId)).toEqual([first, second, third]);
    expect(await stores.apiKeys.list(newId('ws'))).toEqual([]);
  });

  it('is revoked once, by one of many callers', async () => {
    const key = await put();
    await clock.advance(1000);
    const days = Array.from({ length: 10 }, (_, index) => `2027-02-0${index}T00:00:00.000Z`);
    const revoked = await Promise.all(days.map((at) => stores.apiKeys.revoke(key.id, at)));
    expect(revoked).toEqual(days.map(() => revoked[0]));
    expect(await stores.apiKeys.revoke(key.id, '2027-03-02T00:00:00.000Z')).toEqual(revoked[0]);
    expect(await stores.apiKeys.byHash(key.hash)).toEqual({ ...key, revokedAt: revoked[0]?.revokedAt });
    expect(days).toContain(revoked[0]?.revokedAt);
    expect(await actionsOf(key)).toEqual(['key created', 'key revoked']);
    expect(await stores.apiKeys.revoke(newId('key'), '2027-02-01T00:00:00.000Z')).toBeUndefined();
  });

  it.each([
    ['was revoked', (key: ApiKey) => stores.apiKeys.revoke(key.id, '2027-02-01T00:00:00.000Z')],
    [
      'was replaced',
      (key: ApiKey) =>
        stores.apiKeys.replace(
          key,
          '2027-02-01T00:00:00.000Z',
          keyWith({ workspaceId: key.workspaceId, createdAt: '2027-12-01T00:00:00.000Z' }),
        ),
    ],
  ])('is not replaced if it %s after it was read', async (_, change) => {
    const old = await put();
    await clock.advance(1000);
    await change(old);
    const [before, actions] = [await stores.apiKeys.list(old.workspaceId), await actionsOf(old)];
    const key = keyWith({ workspaceId: old.workspaceId });
    expect(await stores.apiKeys.replace(old, '2027-03-01T00:00:00.000Z', key)).toBe(false);
    expect(await stores.apiKeys.byHash(key.hash)).toBeUndefined();
    expect(await stores.apiKeys.byId(key.id)).toBeUndefined();
    expect(await stores.apiKeys.list(old.workspaceId)).toEqual(before);
    expect(await actionsOf(old)).toEqual(actions);
  });

  it('is replaced also if it was used after it was read', async () => {
    const old = await put();
    await stores.apiKeys.markUsed(old, '2027-01-31', signal);
    const expiresAt = '2027-02-01T00:00:00.000Z';
    expect(await stores.apiKeys.replace(old, expiresAt, keyWith())).toBe(true);
    expect(await stores.apiKeys.byHash(old.hash)).toEqual({ ...old, expiresAt, lastUsedOn: '2027-01-31' });
  });

  it('replaces no unknown key', async () => {
    const key = keyWith();
    expect(await stores.apiKeys.replace(keyWith(), '2027-02-01T00:00:00.000Z', key)).toBe(false);
    expect(await stores.apiKeys.byHash(key.hash)).toBeUndefined();
  });

  it('is replaced by one of many callers', async () => {
    const old = await put();
    const made = Array.from({ length: 5 }, () => keyWith({ workspaceId: old.workspaceId }));
    const replaced = await Promise.all(
      made.map((key) => stores.apiKeys.replace(old, '2027-02-01T00:00:00.000Z', key)),
    );
    expect(replaced.filter(Boolean)).toHaveLength(1);
    const listed = (await stores.apiKeys.list(old.workspaceId)).map(({ id }) => id);
    expect(listed.toSorted()).toEqual([old.id, made[replaced.indexOf(true)]?.id].toSorted());
  });

  it('has the last day of its use', async () => {
    const key = await put();
    const dayAfter = async (day: string): Promise<string | null | undefined> => {
      await stores.apiKeys.markUsed(key, day, signal);
      return (await stores.apiKeys.byHash(key.hash))?.lastUsedOn;
    };
    expect(await dayAfter('2027-01-30')).toBe('2027-01-30');
    expect(await dayAfter('2027-01-29')).toBe('2027-01-30');
    expect(await dayAfter('2027-01-30')).toBe('2027-01-30');
    expect(await dayAfter('2027-02-01')).toBe('2027-02-01');
    await Promise.all(['2027-02-03', '2027-02-05', '2027-02-04'].map(dayAfter));
    expect(await stores.apiKeys.byHash(key.hash)).toEqual({ ...key, lastUsedOn: '2027-02-05' });
    expect(await actionsOf(key)).toEqual(['key created']);
  });

  it('is not created by a use', async () => {
    const key = keyWith();
    await stores.apiKeys.markUsed(key, '2027-01-31', signal);
    expect(await stores.apiKeys.byHash(key.hash)).toBeUndefined();
  });

  it('is not marked after the caller has stopped waiting', async () => {
    const key = await put();
    await expect(stores.apiKeys.markUsed(key, '2027-01-31', AbortSignal.abort())).rejects.toThrow();
    expect(await stores.apiKeys.byHash(key.hash)).toEqual(key);
  });

  it('has the change of its rotation in the audit log, but not its hash', async () => {
    const old = await put({ name: null });
    const { workspaceId } = old;
    const key = keyWith({ workspaceId, prefix: 'ak_5678', expiresAt: '2028-01-01T00:00:00.000Z' });
    await clock.advance(1000);
    await stores.apiKeys.replace(old, '2027-02-01T00:00:00.000Z', key);
    const entries = await auditEntriesOf(stores.auditLog, workspaceId);
    expect(entries[1]).toMatchObject({ at: now(), action: 'key rotated', target: old.id });
    expect(entries[1]?.changes).toEqual({
      ends: { from: null, to: '2027-02-01T00:00:00.000Z' },
      new_key_id: key.id,
      name: 'Web shop',
      expires_at: '2028-01-01T00:00:00.000Z',
      key: 'ak_5678…wxyz',
    });
    expect(JSON.stringify(entries)).not.toContain('hash of');
  });
});

it('the audit log has the entries of whole days, oldest first', async () => {
  const [one, other] = [newId('ws'), newId('ws')];
  const start = Date.parse(`${dayOf(clock.now())}T00:00:00.000Z`);
  const dayAfter = (days: number): string => dayOf(new Date(start + days * 24 * 60 * 60 * 1000));
  const moveTo = (day: string, time: string) =>
    clock.advance(Date.parse(`${day}T${time}Z`) - clock.now().getTime());
  const changes: [day: string, time: string, workspaceId: string, user: string][] = [
    [dayAfter(1), '23:59:59.999', one, 'the day before'],
    [dayAfter(2), '00:00:00.000', one, 'first of the first day'],
    [dayAfter(2), '12:00:00.000', other, 'of another workspace'],
    [dayAfter(3), '23:59:59.999', one, 'last of the last day'],
    [dayAfter(4), '00:00:00.000', one, 'the day after'],
  ];
  for (const [day, time, workspaceId, user] of changes) {
    await moveTo(day, time);
    await stores.workspaces.addToWhitelist(workspaceId, [user]);
  }
  const usersBetween = async (workspaceId: string | undefined, from: string, to: string) =>
    (await Array.fromAsync(stores.auditLog.between(workspaceId, from, to)))
      .flat()
      .map(({ at }) => changes.find(([day, time]) => at === `${day}T${time}Z`)?.[3]);
  expect(await usersBetween(one, dayAfter(2), dayAfter(3))).toEqual([
    'first of the first day',
    'last of the last day',
  ]);
  expect(await usersBetween(one, dayAfter(2), dayAfter(2))).toEqual(['first of the first day']);
  expect(await usersBetween(undefined, dayAfter(2), dayAfter(3))).toEqual([
    'first of the first day',
    'of another workspace',
    'last of the last day',
  ]);
  expect(await usersBetween(one, dayAfter(5), dayAfter(6))).toEqual([]);
  expect(await usersBetween(undefined, dayAfter(1), dayAfter(4))).toEqual(
    changes.map(([, , , user]) => user),
  );
});
