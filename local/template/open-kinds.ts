import type { RunContext } from '../run-context.ts';
import type { OpenKind, ResourceKind } from './resource-kind.ts';
import { resourceKinds } from './resource-kinds.ts';
import { kindOf, type StackResources } from './stack-resources.ts';
import type { TemplateResource } from './template-resource.ts';

export function createOpenKinds() {
  const opened = new Map<ResourceKind, OpenKind>();
  const inOrder = () => resourceKinds.flatMap((kind) => opened.get(kind) ?? []);

  return {
    kindOf({ logicalId, type }: TemplateResource): OpenKind {
      const kind = kindOf(type);
      const open = kind && opened.get(kind);
      if (open) return open;
      throw new Error(`${logicalId} (${type}) is referenced before it is open`);
    },
    environmentFor: (functionLogicalId: string): Record<string, string> =>
      Object.assign({}, ...[...opened.values()].map((kind) => kind.environmentFor?.(functionLogicalId))),
    async open(resources: StackResources, context: RunContext): Promise<void> {
      const openKind = async (kind: ResourceKind): Promise<void> => {
        const ofKind = resources.ofKind(kind);
        if (ofKind.length === 0 && kind.hasRetained?.(context.options) !== true) return;
        opened.set(kind, await kind.open(ofKind, context));
      };
      for (const first of [true, false]) {
        const kinds = resourceKinds.filter(({ opensFirst = false }) => opensFirst === first);
        // All attempts end before one of their errors is thrown, so that `close` closes every open kind.
        const attempts = await Promise.allSettled(kinds.map(openKind));
        for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason;
      }
    },
    async start(): Promise<void> {
      for (const kind of inOrder()) await kind.start?.();
      for (const kind of inOrder()) kind.complete?.();
    },
    async close(): Promise<void> {
      for (const kind of inOrder().toReversed()) await kind.close?.();
    },
  };
}
