import { describe, expect, it } from 'vitest';
import type { Limits, RateLimit } from '#contract/rate-limits.ts';
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
