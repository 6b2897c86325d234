import { ResourceNotFoundException, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cachedVersions, type SecretVersions, secretCacheMilliseconds } from '#adapters/secrets.ts';
import { acceptedSecrets, overlapMilliseconds, signingSecret } from '#runtime/http/caller-secrets.ts';
import { seededRandom } from '#support/seeded-random.ts';

const minute = 60_000;

beforeEach(() => vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2027-01-01T00:00:00Z') }));
afterEach(() => vi.useRealTimers());

/** Secrets Manager with one secret. It counts its calls. */
function openSecret() {
  let versions: { value: string; at: number }[] = [{ value: 'value 1', at: Date.now() }];
  let calls = 0;
  const client = {
    async send({ input }: { input: { VersionStage: string } }) {
      calls += 1;
      const version = versions.at(input.VersionStage === 'AWSCURRENT' ? -1 : -2);
      if (version === undefined)
        throw new ResourceNotFoundException({ message: 'No version', $metadata: {} });
      return { SecretString: version.value, CreatedDate: new Date(version.at) };
    },
  } as unknown as SecretsManagerClient;
  return {
    client: () => client,
    calls: () => calls,
    current: () => versions.at(-1)?.value,
    rotate() {
      versions = [...versions.slice(-1), { value: `value ${Date.now()}`, at: Date.now() }];
    },
  };
}

const environmentOf = (secret: ReturnType<typeof openSecret>, cacheSeconds: number) =>
  cachedVersions(
    secret.client,
    () => 'secret',
    () => overlapMilliseconds(cacheSeconds),
  );

it.each([0, 60, 3600])('a caller is accepted in two rotations, cached for %d s', async (cacheSeconds) => {
  const random = seededRandom(cacheSeconds);
  const secret = openSecret();
  const overlap = overlapMilliseconds(cacheSeconds);
  const start = Date.now() + 30 * minute;
  const rotations = [start, start + overlap];
  const end = start + 2 * overlap + 10 * minute;
  // Environments start and end at any time, and have read the secret at any time.
  const environments = () => Array.from({ length: 4 }, () => environmentOf(secret, cacheSeconds));
  const [authorizers, servers] = [environments(), environments()];
  const replaceOne = (all: typeof servers) => {
    all[Math.floor(random() * all.length)] = environmentOf(secret, cacheSeconds);
  };
  const pick = (all: typeof servers): Promise<SecretVersions> => {
    const read = all[Math.floor(random() * all.length)];
    if (read === undefined) throw new Error('There is no environment');
    return read();
  };
  let cached: { signedWith: string; at: number }[] = [];
  const used = new Set<string>();
  for (; Date.now() < end; vi.setSystemTime(Date.now() + 1000 + random() * 4000)) {
    const now = Date.now();
    if (rotations.length > 0 && now >= (rotations[0] ?? 0)) {
      rotations.shift();
      secret.rotate();
    }
    if (random() < 0.02) replaceOne(authorizers);
    if (random() < 0.02) replaceOne(servers);
    const signedWith = signingSecret(await pick(authorizers), now);
    used.add(signedWith);
    cached = [...cached.filter(({ at }) => now - at <= cacheSeconds * 1000), { signedWith, at: now }];
    // The newest signature, the oldest that the gateway has cached, and any other.
    for (const each of [cached.at(-1), cached[0], cached[Math.floor(random() * cached.length)]]) {
      const accepted = acceptedSecrets(await pick(servers), now, cacheSeconds);
      expect(accepted, `${(now - start) / 1000} s after the first rotation`).toContain(each?.signedWith);
    }
  }
  // Both rotations took effect.
  expect(used.size).toBe(3);
  expect(used).toContain(secret.current());
});

describe('a rotated secret', () => {
  const versions: SecretVersions = { current: 'new', since: 0, previous: 'old' };

  it('signs when each environment knows it, and replaces the old one for good after the caches', () => {
    const known = secretCacheMilliseconds;
    expect(signingSecret(versions, known)).toBe('old');
    expect(signingSecret(versions, known + minute)).toBe('new');
    const overlap = overlapMilliseconds(60);
    expect(overlap).toBe(8 * minute);
    expect(acceptedSecrets(versions, overlap - 1, 60)).toEqual(['new', 'old']);
    expect(acceptedSecrets(versions, overlap, 60)).toEqual(['new']);
  });

  it('costs two reads in five minutes, however many signatures are unknown, and then one', async () => {
    const secret = openSecret();
    vi.setSystemTime(Date.now() + 60 * minute);
    secret.rotate();
    const read = environmentOf(secret, 60);
    const readMany = async () => {
      for (let request = 0; request < 1000; request += 1) await read();
    };
    await readMany();
    expect(secret.calls()).toBe(2);
    vi.setSystemTime(Date.now() + 10 * minute);
    await readMany();
    expect(secret.calls()).toBe(3);
    expect(await read()).toMatchObject({ previous: undefined });
  });
});
