import type { CountUse } from '#agents/tools/remote/pinned-tool.ts';
import type { OutboundFailureKind } from '#domain/platform/failures.ts';
import { hostOf } from '#domain/tools/tool-secret.ts';
import { invocationContext } from '#runtime/environment/invocation-context.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';

/** Returns how many agents the current request has come through. */
export const requestDepth = (): number => invocationContext().getStore()?.agentDepth ?? 0;

/**
 * Makes a function that is called at the start of a tool's use. It returns a function for the end of the use, which
 * records the time and a failure. Hosts and names of tools are only in the log: as dimensions of metrics they would be
 * too many.
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
