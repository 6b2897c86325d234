import dns, { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { deniedPorts, type HostAndPort } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { Clock } from '#domain/platform/services.ts';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The only IPv6 range that is allocated as global unicast. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** NAT64: IPv6-only networks reach IPv4 hosts through this prefix. The last four bytes are the IPv4 address. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/** An IPv4-mapped or NAT64 address counts as its IPv4 address. */
export function isPublicAddress(text: string): boolean {
  const address = parse(text);
  if (address === undefined) return false;
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(nat64)) return new ipaddr.IPv4(address.toByteArray().slice(-4)).range() === 'unicast';
  return address.match(globalUnicast) && address.range() === 'unicast';
}

function isSameAddress(one: string, other: string): boolean {
  const address = parse(one);
  return address !== undefined && address.toNormalizedString() === parse(other)?.toNormalizedString();
}

/** The unspecified address counts too: a connection to it reaches loopback. */
function isLoopback(text: string): boolean {
  const range = parse(text)?.range();
  return range === 'loopback' || range === 'unspecified';
}

/** An IPv4-mapped IPv6 address becomes IPv4. Undefined also for an address with a zone id. */
function parse(text: string): Address | undefined {
  switch (isIP(text)) {
    case 4:
      return ipaddr.IPv4.parse(text);
    case 6: {
      // URL writes the last part in hexadecimal too. Otherwise, ipaddr.js would parse the IPv4-compatible ::8.8.8.8 as
      // ::ffff:8.8.8.8.
      const hostname = URL.parse(`http://[${text}]`)?.hostname;
      return hostname === undefined ? undefined : ipaddr.process(hostname.slice(1, -1));
    }
  }
  return undefined;
}

/** Empty, or an error, if the name does not resolve. */
type ResolveHost = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

/**
 * Times in milliseconds. `whole` is for all queries of one name, because a page has 8 s for the check of its address
 * and the head of the response.
 */
const queryLimits = { timeout: 1000, attempts: 3, whole: 5000 };

/** A response could have thousands of addresses, and each one is compared with the denied ones. */
const addressesOfFamily = 16;

/** Milliseconds until a name of an operator is resolved again: sooner after a failure, which may be a short one. */
const freshness = { resolved: 60_000, failed: 5000 };

/**
 * The system's resolver knows the hosts file, but holds a thread of the pool of Node.js until it gives up: a few names
 * that do not resolve could delay all others. So it resolves only names of operators.
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
    // DNS servers are not to be asked for this name (RFC 6761, section 6.3).
    if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    return resolveByServers(host, signal, options);
  };
}

async function resolveBySystem(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

/** Looks up one name after the other, because each lookup holds a thread. */
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

/** Each call has a resolver of its own, because a resolver cancels all its queries at once. */
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

export interface OutboundRules {
  allow: readonly HostAndPort[];
  /** Forbidden even if `allow` names them: the internal endpoints. */
  denied: readonly HostAndPort[];
  /** If given, only these are allowed: a host, or `*.` and a domain for each host below it. */
  hosts?: readonly string[] | undefined;
  resolve: ResolveHost;
}

export const outboundRules = (
  allow: readonly HostAndPort[],
  denied: readonly HostAndPort[],
  clock: Clock,
): OutboundRules => {
  const operatorHosts = [...allow, ...denied].map(({ host }) => host);
  return { allow, denied, resolve: hostResolver(operatorHosts, { clock }) };
};

/**
 * Connect to these addresses only and do not resolve the name again: it may resolve to another address later (DNS
 * rebinding).
 * @throws OutboundFailure `malformed`, `unlisted`, `forbidden` or `unresolved`
 */
export async function checkedAddresses(
  url: URL,
  rules: OutboundRules,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    throw new OutboundFailure('malformed');
  const host = url.hostname.replace(/\.$/, '');
  if (rules.hosts?.some((entry) => isNamed(host, entry)) === false)
    throw new OutboundFailure(
      'unlisted',
      `The host ${host} is not on the list of hosts that this tool may read`,
    );
  const port = portOf(url);
  if (deniedPorts.some((denied) => denied === port))
    throw new OutboundFailure('forbidden', `The port ${port} is not allowed`);
  const resolve = (name: string) => addressesOf(name, rules.resolve, signal);
  const addresses = await resolve(host);
  if (addresses.length === 0) throw new OutboundFailure('unresolved');

  const entries = rules.allow.filter((entry) => entry.port === '*' || entry.port === port);
  const allowed = entries.some((entry) => entry.host === host)
    ? addresses
    : addresses.filter((address) => entries.some((entry) => isSameAddress(bare(entry.host), address)));
  if (allowed.length === 0 && !addresses.every(isPublicAddress)) throw new OutboundFailure('forbidden');
  const reachable = allowed.length > 0 ? allowed : addresses;
  const denied = await deniedAddresses(rules, port, resolve);
  if (reachable.some((address) => denied.some((other) => isSameEndpoint(address, other))))
    throw new OutboundFailure('forbidden');
  return reachable;
}

const isNamed = (host: string, entry: string): boolean =>
  entry.startsWith('*.') ? host.endsWith(entry.slice(1)) : host === entry;

const defaultPorts: Record<string, number> = { 'http:': 80, 'https:': 443 };

const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (defaultPorts[protocol] ?? 0) : Number(port);

export const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

async function addressesOf(
  host: string,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = bare(host);
  if (isIP(literal) !== 0) return [literal];
  return resolve(host, signal).catch(() => []);
}

/** @throws OutboundFailure if a host denied at this port has no address now: the request might reach that host */
async function deniedAddresses(
  { denied }: OutboundRules,
  port: number,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const hosts = denied.filter((entry) => entry.port === '*' || entry.port === port).map(({ host }) => host);
  const found = await Promise.all([...new Set(hosts)].map(resolve));
  if (found.some((addresses) => addresses.length === 0))
    throw new OutboundFailure('unresolved', 'The address cannot be checked now');
  return found.flat();
}

/** Any two addresses of this machine count as the same endpoint: a service may listen on all of them. */
const isSameEndpoint = (one: string, other: string): boolean =>
  isSameAddress(one, other) || (isOwn(one) && isOwn(other));

const isOwn = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .some((entry) => isSameAddress(entry.address, address));
