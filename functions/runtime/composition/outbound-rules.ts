import { hostResolver, type OutboundRules } from '#adapters/outbound/addresses.ts';
import type { HostAndPort } from '#contract/urls.ts';
import { internalEndpoints } from '#runtime/environment/environment.ts';
import { clock } from '#runtime/environment/invocation-context.ts';

export function outboundRules(allow: readonly HostAndPort[]): OutboundRules {
  const denied = internalEndpoints();
  const operatorHosts = [...allow, ...denied].map(({ host }) => host);
  return { allow, denied, resolve: hostResolver(operatorHosts, { clock }) };
}
