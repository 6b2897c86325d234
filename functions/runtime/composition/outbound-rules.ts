import type { OutboundRules } from '#adapters/outbound/checked-addresses.ts';
import { hostResolver } from '#adapters/outbound/host-resolver.ts';
import type { HostAndPort } from '#contract/host-and-port.ts';
import { clock } from '#runtime/environment/clock.ts';
import { internalEndpoints } from '#runtime/environment/internal-endpoints.ts';

export function outboundRules(allow: readonly HostAndPort[]): OutboundRules {
  const denied = internalEndpoints();
  const operatorHosts = [...allow, ...denied].map(({ host }) => host);
  return { allow, denied, resolve: hostResolver(operatorHosts, { clock }) };
}
