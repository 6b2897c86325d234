import dns, { lookup } from 'node:dns/promises';
import type { Clock } from '#domain/platform/clock.ts';

/** The addresses of a host name. Empty, or an error, if the name does not resolve. */
export type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Milliseconds. A lost packet is repeated after 1 s and after 2 s more. 5 s in all, whatever number of servers the system
 * has: a page's server has 8 s for the head of its response.
 */
const queryLimits = { timeout: 1000, attempts: 3, whole: 5000 };

/** Large sites have eight. A response of 64 KB could have 4,000, and each one is compared with every denied address. */
const addressesOfFamily = 16;

/** Milliseconds until a name of an operator is resolved again. Sooner after a failure, which may be a short one. */
const freshness = { resolved: 60_000, failed: 5000 };

/**
 * Resolves names of operators by the system, which knows the hosts file and search domains, and names of users by DNS
 * alone. The system's resolver holds one of the four threads of the process until it gives up, so that few names that
 * do not resolve would block all reads of files.
 * @param options.servers DNS servers as ADDRESS:PORT. Default: those of the system.
 */
export function hostResolver(
  operatorHosts: readonly string[],
  options: { clock: Clock; servers?: readonly string[]; systemLookup?: typeof resolveBySystem },
): ResolveHost {
  const names = new Set(operatorHosts);
  const resolveOperatorHost = remembered(options.systemLookup ?? resolveBySystem, options.clock);
  return async (host, signal) => {
    if (names.has(host)) return resolveOperatorHost(host);
    // Never a question for a DNS server (RFC 6761, section 6.3).
    if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    return resolveByServers(host, signal, options);
  };
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

/** Looks up one name after the other, so that all of them together hold one thread at most. */
function remembered(
  systemLookup: (host: string) => Promise<readonly string[]>,
  clock: Clock,
): (host: string) => Promise<readonly string[]> {
  const known = new Map<string, { addresses: Promise<readonly string[]>; until: number }>();
  let last: Promise<unknown> = Promise.resolve();
  return (host) => {
    const entry = known.get(host);
    if (entry !== undefined && clock.now().getTime() < entry.until) return entry.addresses;
    const addresses = last.then(() => systemLookup(host)).catch((): readonly string[] => []);
    const next = { addresses, until: Number.POSITIVE_INFINITY };
    known.set(host, next);
    last = addresses.then((found) => {
      next.until = clock.now().getTime() + (found.length > 0 ? freshness.resolved : freshness.failed);
    });
    return addresses;
  };
}

/** Has a resolver of its own, because a resolver cancels all its queries at once. */
async function resolveByServers(
  host: string,
  signal: AbortSignal,
  { clock, servers }: { clock: Clock; servers?: readonly string[] },
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const resolver = new dns.Resolver({ timeout: queryLimits.timeout, tries: queryLimits.attempts });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const stop = clock.after(queryLimits.whole, cancel);
  // A name with addresses of one family is usual, so each query may fail.
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  stop();
  signal.removeEventListener('abort', cancel);
  return found.flatMap((family) =>
    family.status === 'fulfilled' ? family.value.slice(0, addressesOfFamily) : [],
  );
}
