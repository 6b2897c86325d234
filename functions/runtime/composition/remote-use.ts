import type { CountUse } from '#agents/tools/remote/pinned-tool.ts';
import type { OutboundFailureKind } from '#domain/platform/failures.ts';
import { hostOf } from '#domain/tools/tool-secret.ts';
import { invocationContext } from '#runtime/environment/invocation-context.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';

/** How many agents the current request has come through. */
export const requestDepth = (): number => invocationContext().getStore()?.agentDepth ?? 0;

/**
 * Hosts and names of tools are in the log alone: as dimensions of metrics they would be very many.
 * @param url undefined for a system that has no address
 */
export const countUse =
  (tool: string, url?: URL): CountUse =>
  (name) => {
    const startedAt = performance.now();
    return (failure) => {
      measurements.add('toolTime', Math.round(performance.now() - startedAt), { tool });
      if (failure === undefined) return;
      const kind = failureKinds[failure.kind];
      measurements.add('toolFailures', 1, { tool, failure: kind });
      log.warn('A remote tool failed', {
        ...{ tool, name, failure: kind },
        ...(url && { host: hostOf(url) }),
      });
    };
  };

const failureKinds: Readonly<Record<OutboundFailureKind, string>> = {
  ...{ malformed: 'forbidden', forbidden: 'forbidden', unlisted: 'forbidden' },
  ...{ unresolved: 'unreachable', unreachable: 'unreachable', untrusted: 'unreachable' },
  ...{ broken: 'protocol', unreadable: 'protocol', protocol: 'protocol', 'too-large': 'too-large' },
  ...{
    redirects: 'refused',
    refused: 'refused',
    timeout: 'timeout',
    unauthorized: 'auth',
    changed: 'changed',
  },
};
