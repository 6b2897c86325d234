import type { Settings } from '#lib/settings.ts';
import { assumptions, secondsOf } from '../../bin/cost/assumptions.ts';
import { dollarsOf, totalOf } from '../../bin/cost/dollars-of.ts';
import { priceOf } from '../../bin/cost/prices.ts';

/** AWS's quota of requests a second, for all gateways of an account in a Region. */
const gatewayQuota = 10_000;
/** The processors of an environment of a web function. */
const processors = 2;

const nothing = { invocations: {}, dynamodb: {}, readUnits: 0, writeUnits: 0, requests: {}, transitions: 0 };
/**
 * The dollars of a request that the gateway rejects. CloudFront is not included, because an attacker can call the
 * gateway directly.
 */
const { gateway, logs } = dollarsOf(nothing);
/** The dollars of an invocation of the authorizer, which reads one item. */
const authorizerDollars = totalOf(
  dollarsOf({ ...nothing, invocations: { AuthorizeRequest: 1 }, readUnits: 1 }, undefined, 0),
);

type Limits = Pick<Settings, 'gatewayRequestsPerSecond' | 'webRequestsPerSecond' | 'webEnvironments'> & {
  authorizerConcurrency: number;
  requestsInFiveMinutes: number;
};

/**
 * The most that requests with unknown API keys can cost, each with another key. The gateway may not bill requests that its
 * authorizer rejects, so these are upper limits.
 */
export function unknownKeyAttacks(limits: Limits) {
  const mostAuthorized = limits.authorizerConcurrency / secondsOf('AuthorizeRequest');
  const throughGateway = (what: string, requestsPerSecond: number, furtherDollars = 0) => ({
    what,
    requestsPerSecond,
    dollarsPerSecond:
      requestsPerSecond * (gateway + logs + furtherDollars) +
      Math.min(requestsPerSecond, mostAuthorized) * authorizerDollars,
  });
  const environmentDollars =
    processors * priceOf('processorSecond') +
    assumptions.environmentGigabytes * priceOf('environmentGigabyteSecond');
  return [
    throughGateway('one route, at `gatewayRequestsPerSecond`', limits.gatewayRequestsPerSecond),
    throughGateway('all routes, at the quota of an account', gatewayQuota),
    {
      what: 'uploads, at `webRequestsPerSecond` and `webEnvironments`',
      requestsPerSecond: limits.webRequestsPerSecond,
      dollarsPerSecond:
        limits.webRequestsPerSecond * (priceOf('invocation') + priceOf('readUnit')) +
        limits.webEnvironments * environmentDollars,
    },
    throughGateway(
      'each address, with a firewall at `firewall.requestsInFiveMinutes`',
      limits.requestsInFiveMinutes / 300,
      priceOf('firewallRequest'),
    ),
  ];
}
