import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Limits, RateLimit } from '#contract/rate-limits.ts';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import type { BucketChange, RateBucket } from '#domain/workspaces/rate-bucket-store.ts';
import { dayOf, noCounts, type Use } from '#domain/workspaces/usage.ts';
import type { Workspace } from '#domain/workspaces/workspace.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { type OpenStores, openStores, type Stores } from '#support/open-stores.ts';

let opened: OpenStores;
let stores: Stores;
beforeAll(async () => {
  opened = await openStores();
  ({ stores } = opened);
});
afterAll(() => opened.close());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;
const now = (): string => opened.clock.now().toISOString();

const workspaceWith = (changes: Partial<Workspace> = {}): Workspace => ({
  id: newId('ws'),
  name: 'Bakery',
  enabled: true,
  whitelistEnabled: false,
  titlesEnabled: true,
  limits: 'default',
  ownLimits: {},
  createdAt: now(),
  ...changes,
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
      openBatches: 3,
    };
    for (const workspace of [
      workspaceWith({ ownLimits, whitelistEnabled: true, limits: 'none' }),
      workspaceWith({ ownLimits: { openBatches: null }, enabled: false, titlesEnabled: false }),
    ]) {
      expect(await stores.workspaces.get(workspace.id)).toBeUndefined();
      await stores.workspaces.put(workspace);
      expect(await stores.workspaces.get(workspace.id)).toEqual(workspace);
    }
  });

  it('does not change with an object that a caller has', async () => {
    const workspace = await put({ ownLimits: { reads: { ...perSecond } } });
    const stored = structuredClone(workspace);
    Object.assign(workspace.ownLimits.reads as RateLimit, { count: 1 });
    const read = (await stores.workspaces.get(stored.id)) as Workspace;
    Object.assign(read, { name: 'Changed', ownLimits: {} });
    expect(await stores.workspaces.get(stored.id)).toEqual(stored);
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
    const renewed = { ...workspace, enabled: false, titlesEnabled: false, limits: 'none' as const };
    expect(
      await stores.workspaces.update(workspace.id, { enabled: false, titlesEnabled: false, limits: 'none' }),
    ).toEqual(renewed);
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

  it('has its changes in the audit log', async () => {
    const workspace = await put({ whitelistEnabled: true, ownLimits: { reads: perSecond } });
    const { id } = workspace;
    const created = now();
    await opened.clock.advance(1000);
    await stores.workspaces.update(id, {
      enabled: false,
      whitelistEnabled: true,
      ownLimits: { sends: null },
    });
    expect(await stores.workspaces.update(id, {})).toMatchObject({ enabled: false });
    expect(await stores.workspaces.update(id, { ownLimits: {} })).toMatchObject({ enabled: false });
    const common = { actor: 'tester', workspaceId: id, target: id };
    expect(await auditEntriesOf(stores.auditLog, id)).toEqual([
      {
        ...common,
        at: created,
        action: 'workspace created',
        changes: { name: 'Bakery', whitelistEnabled: true, limits: 'default' },
      },
      {
        ...common,
        at: now(),
        action: 'workspace updated',
        changes: {
          enabled: { from: true, to: false },
          ownLimits: { from: { reads: perSecond }, to: { sends: null } },
        },
      },
    ]);
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

  it('belongs to one workspace', async () => {
    const [one, other] = [newId('ws'), newId('ws')];
    await stores.workspaces.addToWhitelist(one, ['ada']);
    expect(await stores.workspaces.isListed(other, 'ada')).toBe(false);
    await stores.workspaces.addToWhitelist(other, ['ada']);
    await stores.workspaces.removeFromWhitelist(other, ['ada']);
    expect(await stores.workspaces.isListed(one, 'ada')).toBe(true);
  });

  // More than the 100 writes of one transaction.
  it('takes 120 users at once', async () => {
    const id = newId('ws');
    const users = Array.from({ length: 120 }, (_, index) => `user ${1000 + index}`);
    await stores.workspaces.addToWhitelist(id, users);
    expect(await isListed(id, users)).toEqual(users.map(() => true));
    await opened.clock.advance(1000);
    await stores.workspaces.removeFromWhitelist(id, users);
    expect(await isListed(id, users)).toEqual(users.map(() => false));
    const entries = await auditEntriesOf(stores.auditLog, id);
    for (const wanted of ['whitelist extended', 'whitelist reduced']) {
      const named = entries
        .filter(({ action, target }) => action === wanted && target === id)
        .flatMap(({ changes }) => changes.users as string[]);
      expect(named.toSorted()).toEqual(users);
    }
  });

  it('needs no audit entry for no user', async () => {
    const id = newId('ws');
    await stores.workspaces.addToWhitelist(id, []);
    await stores.workspaces.removeFromWhitelist(id, []);
    expect(await auditEntriesOf(stores.auditLog, id)).toEqual([]);
  });
});

describe('an API key', () => {
  const put = async (changes: Partial<ApiKey> = {}): Promise<ApiKey> => {
    const key = keyWith(changes);
    await stores.apiKeys.put(key);
    return key;
  };
  const signal = AbortSignal.any([]);
  const actionsOf = async ({ workspaceId }: ApiKey): Promise<string[]> =>
    (await auditEntriesOf(stores.auditLog, workspaceId)).map(({ action }) => action);

  it('is found by its hash and by its id', async () => {
    for (const key of [keyWith(), keyWith({ name: null, expiresAt: '2027-03-01T00:00:00.000Z' })]) {
      expect(await stores.apiKeys.byHash(key.hash)).toBeUndefined();
      expect(await stores.apiKeys.byId(key.id)).toBeUndefined();
      await stores.apiKeys.put(key);
      expect(await stores.apiKeys.byHash(key.hash)).toEqual(key);
      expect(await stores.apiKeys.byId(key.id)).toEqual(key);
    }
  });

  it('is stored without a use', async () => {
    const { hash } = await put({ lastUsedOn: '2027-01-01' });
    expect(await stores.apiKeys.byHash(hash)).toMatchObject({ lastUsedOn: null });
  });

  it('does not change with an object that a caller has', async () => {
    const key = await put();
    const stored = { ...key };
    key.name = 'Changed';
    for (const read of [await stores.apiKeys.byHash(key.hash), await stores.apiKeys.byId(key.id)])
      (read as ApiKey).name = 'Changed';
    for (const read of await stores.apiKeys.list(key.workspaceId)) read.name = 'Changed';
    expect(await stores.apiKeys.byHash(key.hash)).toEqual(stored);
  });

  it('is in the list of its workspace, in order of creation', async () => {
    const workspaceId = newId('ws');
    const third = await put({ workspaceId, createdAt: '2027-01-03T00:00:00.000Z' });
    const first = await put({ workspaceId, createdAt: '2027-01-01T00:00:00.000Z' });
    await put();
    const second = await put({ workspaceId, createdAt: '2027-01-02T00:00:00.000Z' });
    expect(await stores.apiKeys.list(workspaceId)).toEqual([first, second, third]);
    expect(await stores.apiKeys.list(newId('ws'))).toEqual([]);
  });

  it('is revoked once', async () => {
    const key = await put();
    const revoked = { ...key, revokedAt: '2027-02-01T00:00:00.000Z' };
    expect(await stores.apiKeys.revoke(newId('key'), revoked.revokedAt)).toBeUndefined();
    await opened.clock.advance(1000);
    expect(await stores.apiKeys.revoke(key.id, revoked.revokedAt)).toEqual(revoked);
    expect(await stores.apiKeys.revoke(key.id, '2027-02-02T00:00:00.000Z')).toEqual(revoked);
    expect(await stores.apiKeys.byHash(key.hash)).toEqual(revoked);
    expect(await actionsOf(key)).toEqual(['key created', 'key revoked']);
  });

  it('is replaced by a new one and stays until its new expiry', async () => {
    const expiresAt = '2027-02-01T00:00:00.000Z';
    for (const old of [await put(), await put({ expiresAt: '2027-05-01T00:00:00.000Z' })]) {
      const key = keyWith({ workspaceId: old.workspaceId, createdAt: '2027-12-01T00:00:00.000Z' });
      expect(await stores.apiKeys.replace(old, expiresAt, key)).toBe(true);
      expect(await stores.apiKeys.byHash(old.hash)).toEqual({ ...old, expiresAt });
      expect(await stores.apiKeys.byHash(key.hash)).toEqual(key);
      expect(await stores.apiKeys.byId(key.id)).toEqual(key);
      expect(await stores.apiKeys.list(old.workspaceId)).toEqual([{ ...old, expiresAt }, key]);
    }
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
    await opened.clock.advance(1000);
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

  it('has its changes in the audit log, but not its hash', async () => {
    const old = await put({ name: null });
    const { workspaceId } = old;
    const common = { actor: 'tester', workspaceId, target: old.id };
    const times = [now()];
    await opened.clock.advance(1000);
    times.push(now());
    const key = keyWith({ workspaceId, prefix: 'ak_5678', expiresAt: '2028-01-01T00:00:00.000Z' });
    await stores.apiKeys.replace(old, '2027-02-01T00:00:00.000Z', key);
    await opened.clock.advance(1000);
    times.push(now());
    await stores.apiKeys.revoke(old.id, '2027-01-31T18:00:00.000Z');
    const entries = await auditEntriesOf(stores.auditLog, workspaceId);
    expect(entries).toEqual([
      {
        ...common,
        at: times[0],
        action: 'key created',
        changes: { name: null, expires_at: null, key: 'ak_1234…wxyz' },
      },
      {
        ...common,
        at: times[1],
        action: 'key rotated',
        changes: {
          ends: { from: null, to: '2027-02-01T00:00:00.000Z' },
          new_key_id: key.id,
          name: 'Web shop',
          expires_at: '2028-01-01T00:00:00.000Z',
          key: 'ak_5678…wxyz',
        },
      },
      {
        ...common,
        at: times[2],
        action: 'key revoked',
        changes: { revoked_at: '2027-01-31T18:00:00.000Z' },
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain('hash of');
  });
});

describe('the audit log', () => {
  it('has the entries of whole days, oldest first', async () => {
    const [one, other] = [newId('ws'), newId('ws')];
    const start = Date.parse(`${dayOf(opened.clock.now())}T00:00:00.000Z`);
    const dayAfter = (days: number): string => dayOf(new Date(start + days * 24 * 60 * 60 * 1000));
    const moveTo = (day: string, time: string) =>
      opened.clock.advance(Date.parse(`${day}T${time}Z`) - opened.clock.now().getTime());
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
        .flatMap((entry) => entry.changes.users as string[]);
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
});

describe('a rate bucket', () => {
  const bucketWith = (changes: Partial<RateBucket> = {}): RateBucket => ({
    workspaceId: newId('ws'),
    apiKeyId: newId('key'),
    rateClass: 'sends',
    limit: perMinute,
    ...changes,
  });
  const at = 1_800_000_000_000;
  const interval = 6000;
  const taken = (fullAt: number): BucketChange => ({ taken: true, fullAt });
  const notTaken = (fullAt: number): BucketChange => ({ taken: false, fullAt });

  it('without a token taken is full', async () => {
    const bucket = bucketWith();
    expect(
      await stores.rateBuckets.takeNext(bucket, { now: at, interval, latest: at + 9 * interval }),
    ).toEqual(notTaken(0));
    expect(await stores.rateBuckets.takeFirst(bucket, { now: at, interval })).toEqual(taken(at + interval));
  });

  it('is full again at its time, not before', async () => {
    const bucket = bucketWith();
    const { takeFirst } = stores.rateBuckets;
    await takeFirst(bucket, { now: at, interval });
    const fullAt = at + interval;
    expect(await takeFirst(bucket, { now: at, interval })).toEqual(notTaken(fullAt));
    expect(await takeFirst(bucket, { now: fullAt - 1, interval })).toEqual(notTaken(fullAt));
    expect(await takeFirst(bucket, { now: fullAt, interval })).toEqual(taken(fullAt + interval));
    expect(await takeFirst(bucket, { now: fullAt + 3 * interval, interval })).toEqual(
      taken(fullAt + 4 * interval),
    );
  });

  it('has a next token until its latest time, and only while it is not full', async () => {
    const bucket = bucketWith();
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval });
    const fullAt = at + interval;
    const takeNext = (now: number, latest: number) =>
      stores.rateBuckets.takeNext(bucket, { now, interval, latest });
    expect(await takeNext(at, fullAt - 1)).toEqual(notTaken(fullAt));
    expect(await takeNext(fullAt, fullAt + interval)).toEqual(notTaken(fullAt));
    expect(await takeNext(at, fullAt)).toEqual(taken(fullAt + interval));
    expect(await takeNext(fullAt + interval - 1, fullAt + interval)).toEqual(taken(fullAt + 2 * interval));
  });

  it('gains tokens in parts of a millisecond', async () => {
    const bucket = bucketWith({ limit: { count: 3, seconds: 1, burst: 3 } });
    const third = 333.334;
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval: third });
    const next = { now: at, interval: third, latest: at + 2 * third };
    expect((await stores.rateBuckets.takeNext(bucket, next)).fullAt).toBeCloseTo(at + 2 * third, 3);
  });

  it('gives each token to one of many requests', async () => {
    const bucket = bucketWith();
    const requests = Array.from({ length: 20 }, () =>
      stores.rateBuckets.takeFirst(bucket, { now: at, interval }),
    );
    expect((await Promise.all(requests)).filter((change) => change.taken)).toEqual([taken(at + interval)]);
    const latest = at + 4 * interval;
    const changes = await Promise.all(
      Array.from({ length: 20 }, () => stores.rateBuckets.takeNext(bucket, { now: at, interval, latest })),
    );
    const given = changes.filter((change) => change.taken).map(({ fullAt }) => (fullAt - at) / interval);
    expect(given.toSorted()).toEqual([2, 3, 4, 5]);
    expect(changes.filter((change) => !change.taken)).toEqual(
      Array.from({ length: 16 }, () => notTaken(at + 5 * interval)),
    );
  });

  it('is one of a workspace, key, class and limit', async () => {
    const bucket = bucketWith();
    await stores.rateBuckets.takeFirst(bucket, { now: at, interval });
    for (const changes of [
      { workspaceId: newId('ws') },
      { apiKeyId: newId('key') },
      { rateClass: 'reads' as const },
      { limit: { ...perMinute, burst: 11 } },
    ])
      expect(await stores.rateBuckets.takeFirst({ ...bucket, ...changes }, { now: at, interval })).toEqual(
        taken(at + interval),
      );
  });
});

describe('usage', () => {
  const useOf = (changes: Partial<Use> = {}): Use => ({
    workspaceId: newId('ws'),
    apiKeyId: 'key_1',
    agentId: 'agent-1',
    counts: { turns: 1 },
    calls: [],
    ...changes,
  });
  const usageOf = async (workspaceId: string, from = '2027-01-01', to = '2027-01-31') =>
    (await Array.fromAsync(stores.usage.between(workspaceId, from, to))).flat();

  it('is the sum of the uses of a day', async () => {
    const first = useOf({
      counts: { turns: 1, failedTurns: 0, uploadedBytes: 100 },
      calls: [
        ['openai:large', 'chat', 1000, 50],
        ['openai:large', 'chat', 500, 0],
        ['demo', 'title', 0, 0],
      ],
    });
    const { workspaceId } = first;
    expect(await usageOf(workspaceId)).toEqual([]);
    await stores.usage.add(first, '2027-01-15');
    const owner = { workspaceId, apiKeyId: 'key_1', agentId: 'agent-1', day: '2027-01-15' };
    const large = { calls: 2, promptTokens: 1500, completionTokens: 50 };
    expect(await usageOf(workspaceId)).toEqual([
      {
        ...owner,
        counts: { ...noCounts, turns: 1, uploadedBytes: 100 },
        models: { 'openai:large': large, demo: { calls: 1, promptTokens: 0, completionTokens: 0 } },
      },
    ]);
    const counts = { turns: 1, failedTurns: 2, batchRequests: 3, failedBatchRequests: 4, uploads: 5 };
    await stores.usage.add({ ...first, counts, calls: [['demo', 'chat', 7, 8]] }, '2027-01-15');
    expect(await usageOf(workspaceId)).toEqual([
      {
        ...owner,
        counts: { ...counts, turns: 2, uploadedBytes: 100 },
        models: { 'openai:large': large, demo: { calls: 2, promptTokens: 7, completionTokens: 8 } },
      },
    ]);
  });

  it('counts every one of many uses at once', async () => {
    const use = useOf({ calls: [['demo', 'chat', 10, 1]] });
    await Promise.all(Array.from({ length: 20 }, () => stores.usage.add(use, '2027-01-15')));
    expect(await usageOf(use.workspaceId)).toMatchObject([
      { counts: { turns: 20 }, models: { demo: { calls: 20, promptTokens: 200, completionTokens: 20 } } },
    ]);
  });

  it('is listed by day, key and agent', async () => {
    const workspaceId = newId('ws');
    const added: [day: string, apiKeyId: string, agentId: string | null][] = [
      ['2027-01-15', 'key_1', null],
      ['2027-01-15', 'key_1', 'agent-1'],
      ['2027-01-15', 'key_1', 'agent-2'],
      ['2027-01-15', 'key_2', 'agent-1'],
      ['2027-01-16', 'key_1', 'agent-1'],
    ];
    for (const [day, apiKeyId, agentId] of added.toReversed())
      await stores.usage.add(useOf({ workspaceId, apiKeyId, agentId }), day);
    const listed = await usageOf(workspaceId);
    expect(listed.map(({ day, apiKeyId, agentId }) => [day, apiKeyId, agentId])).toEqual(added);
    expect(listed.map(({ counts }) => counts.turns)).toEqual([1, 1, 1, 1, 1]);
  });

  it('is listed from the first to the last day', async () => {
    const use = useOf();
    const days = ['2027-01-09', '2027-01-10', '2027-01-20', '2027-01-21'];
    for (const day of days) await stores.usage.add(use, day);
    const daysBetween = async (from: string, to: string) =>
      (await usageOf(use.workspaceId, from, to)).map(({ day }) => day);
    expect(await daysBetween('2027-01-10', '2027-01-20')).toEqual(['2027-01-10', '2027-01-20']);
    expect(await daysBetween('2027-01-20', '2027-01-20')).toEqual(['2027-01-20']);
    expect(await daysBetween('2027-01-11', '2027-01-19')).toEqual([]);
  });

  it('belongs to one workspace', async () => {
    await stores.usage.add(useOf(), '2027-01-15');
    expect(await usageOf(newId('ws'))).toEqual([]);
  });

  it('has no entry for a use of nothing', async () => {
    const use = useOf({ counts: { turns: 0, uploads: 0 } });
    await stores.usage.add(use, '2027-01-15');
    await stores.usage.add({ ...use, counts: {} }, '2027-01-15');
    expect(await usageOf(use.workspaceId)).toEqual([]);
  });
});
