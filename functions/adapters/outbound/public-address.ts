import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Of IPv6 only this part has been given out for use in public; the rest is private, reserved or unknown. */
const givenOut = ipaddr.IPv6.parseCIDR('2000::/3');
/** How networks with IPv6 alone reach IPv4: the last four bytes are the address that is meant. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether an address belongs to the public internet: not private, loopback, link-local, carrier-grade NAT, multicast,
 * reserved or unique-local, nor a form of IPv6 that carries such an address. 6to4 and Teredo are out of use and never are.
 */
export function isPublicAddress(text: string): boolean {
  const address = parse(text);
  if (address === undefined) return false;
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(nat64)) return new ipaddr.IPv4(address.toByteArray().slice(-4)).range() === 'unicast';
  return address.match(givenOut) && address.range() === 'unicast';
}

/** Whether two texts are one address, however they spell it. */
export function isSameAddress(one: string, other: string): boolean {
  const address = parse(one);
  return address !== undefined && address.toNormalizedString() === parse(other)?.toNormalizedString();
}

/** Loopback, or unspecified, which connects to the same. */
export function isLoopback(text: string): boolean {
  const range = parse(text)?.range();
  return range === 'loopback' || range === 'unspecified';
}

/** Of an IPv4-mapped address, the IPv4 address. Undefined for what is no address, or is one of a single link. */
function parse(text: string): Address | undefined {
  switch (isIP(text)) {
    case 4:
      return ipaddr.IPv4.parse(text);
    case 6: {
      // In hexadecimal alone: the library takes ::8.8.8.8, which is IPv4-compatible, for ::ffff:8.8.8.8.
      const hostname = URL.parse(`http://[${text}]`)?.hostname;
      return hostname === undefined ? undefined : ipaddr.process(hostname.slice(1, -1));
    }
  }
  return undefined;
}
