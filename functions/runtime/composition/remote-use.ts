import type { CountUse } from '#agents/tools/remote/pinned-tool.ts';
import type { OutboundFailureKind } from '#domain/platform/failures.ts';
import { hostOf } from '#domain/tools/tool-secret.ts';
import { invocationContext } from '#runtime/environment/invocation-context.ts';
import { measurements } from '#runtime/observability/invocation.ts';
import { log } from '#runtime/observability/log.ts';

export const requestDepth = (): number => invocationContext().getStore()?.agentDepth ?? 0;

/**
 * `name` and the host are only in the log: as dimensions of metrics, they would have too many values.
 * @param url undefined for a system without an address
 */
export const countUse =
  (tool: string, url?: URL): CountUse =>
  (name) => {
    const startedAt = performance.now();
    return (failure) => {
      measurements.add('toolTime', Math.round(performance.now() - startedAt), { tool });
      if (failure === undefined) return;
      const kind = failureKinds[failure.kind] ?? failure.kind;
      measurements.add('toolFailures', 1, { tool, failure: kind });
      log.warn('A remote tool failed', { tool, name, failure: kind, host: url && hostOf(url) });
    };
  };

const failureKinds: Readonly<Partial<Record<OutboundFailureKind, string>>> = {
  ...{ malformed: 'forbidden', unlisted: 'forbidden', redirects: 'refused', unauthorized: 'auth' },
  ...{ unresolved: 'unreachable', untrusted: 'unreachable', broken: 'protocol', unreadable: 'protocol' },
};
