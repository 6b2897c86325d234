import { describe, expect, it } from 'vitest';
import type { ApiKey } from '#domain/workspaces/api-key.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());

let ids = 0;
const newId = (kind: string): string => `${kind}_${String(++ids).padStart(4, '0')}`;
const now = (): string => clock.now().toISOString();

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
