import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { deniedPorts } from '#contract/denied-ports.ts';
import type { HostAndPort } from '#contract/host-and-port.ts';
import { OutboundFailure } from '#domain/platform/outbound-failure.ts';
import type { ResolveHost } from './host-resolver.ts';
import { isLoopback, isPublicAddress, isSameAddress } from './public-address.ts';

export interface OutboundRules {
  /** Endpoints that are allowed although their addresses are not public. */
  allow: readonly HostAndPort[];
  /** Endpoints that are always forbidden, even if `allow` names them: the internal endpoints. */
  denied: readonly HostAndPort[];
  /** If given, only these hosts are allowed: host names, or `*.` and a parent domain. */
  hosts?: readonly string[] | undefined;
  resolve: ResolveHost;
}

/**
 * The addresses that a request for this URL may connect to. Connect to these only and do not resolve the name again: it
 * may resolve to another address later (DNS rebinding). All of them are public, or the allow list names all of them.
 * @param signal cancels the queries
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

const bare = (host: string): string => host.replace(/^\[|\]$/g, '');

async function addressesOf(
  host: string,
  resolve: ResolveHost,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const literal = bare(host);
  if (isIP(literal) !== 0) return [literal];
  return resolve(host, signal).catch(() => []);
}

/** @throws OutboundFailure if a name has no address: it may be the one that the request would reach */
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
