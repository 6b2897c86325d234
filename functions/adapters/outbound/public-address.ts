import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The only IPv6 range that is allocated as global unicast. The rest is private, reserved or unallocated. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** NAT64: IPv6-only networks reach IPv4 hosts through this prefix. The last four bytes are the IPv4 address. */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether an address belongs to the public internet: not private, loopback, link-local, carrier-grade NAT, multicast,
 * reserved or unique-local, and no IPv6 form that contains such an address. 6to4 and Teredo are obsolete and never
 * public.
 */
export function isPublicAddress(text: string): boolean {
  const address = parse(text);
  if (address === undefined) return false;
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  if (address.match(nat64)) return new ipaddr.IPv4(address.toByteArray().slice(-4)).range() === 'unicast';
  return address.match(globalUnicast) && address.range() === 'unicast';
}

/** Whether two texts are the same address, also in different notations. */
export function isSameAddress(one: string, other: string): boolean {
  const address = parse(one);
  return address !== undefined && address.toNormalizedString() === parse(other)?.toNormalizedString();
}

/** The unspecified address counts too: connecting to it reaches the loopback interface. */
export function isLoopback(text: string): boolean {
  const range = parse(text)?.range();
  return range === 'loopback' || range === 'unspecified';
}

/** Converts an IPv4-mapped IPv6 address to IPv4. Undefined for a text that is no address, or has a zone id. */
function parse(text: string): Address | undefined {
  switch (isIP(text)) {
    case 4:
      return ipaddr.IPv4.parse(text);
    case 6: {
      // URL rewrites the address in hexadecimal. Otherwise ipaddr.js would parse the IPv4-compatible address ::8.8.8.8
      // as ::ffff:8.8.8.8.
      const hostname = URL.parse(`http://[${text}]`)?.hostname;
      return hostname === undefined ? undefined : ipaddr.process(hostname.slice(1, -1));
    }
  }
  return undefined;
}
