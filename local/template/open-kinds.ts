import type { RunContext } from '../run-context.ts';
import type { OpenKind, ResourceKind, TemplateResource } from './resource-kind.ts';
import { resourceKinds } from './resource-kinds.ts';
import { kindOf, type StackResources } from './stack-resources.ts';

/** The resource kinds of a stack. First all of them open, then they start (see `ResourceKind`). */
export interface OpenKinds {
  /** @throws Error if the resource's kind is not open yet */
  kindOf(resource: TemplateResource): OpenKind;
  environmentFor(functionLogicalId: string): Record<string, string>;
  /** Opens all kinds concurrently, kinds with `opensFirst` before the others. */
  open(resources: StackResources, context: RunContext, progress: (line: string) => void): Promise<void>;
  /** Starts the open kinds one after another, in the order of `resourceKinds`. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createOpenKinds(): OpenKinds {
  const opened = new Map<ResourceKind, OpenKind>();
  const inOrder = () => resourceKinds.flatMap((kind) => opened.get(kind) ?? []);

  return {
    kindOf({ logicalId, type }) {
      const kind = kindOf(type);
      const open = kind && opened.get(kind);
      if (open) return open;
      throw new Error(`${logicalId} (${type}) is referenced before it is open`);
    },
    environmentFor: (functionLogicalId) =>
      Object.assign({}, ...[...opened.values()].map((kind) => kind.environmentFor?.(functionLogicalId))),
    async open(resources, context, progress) {
      const openKind = async (kind: ResourceKind): Promise<void> => {
        const ofKind = resources.ofKind(kind);
        if (ofKind.length === 0 && kind.hasRetained?.(context.options) !== true) return;
        opened.set(kind, await kind.open(ofKind, context));
        progress(`${ofKind[0]?.type ?? kind.types[0]} is ready`);
      };
      for (const first of [true, false]) {
        const kinds = resourceKinds.filter(({ opensFirst = false }) => opensFirst === first);
        // All attempts end before one of their errors is thrown, so that `close` closes every open kind.
        const attempts = await Promise.allSettled(kinds.map(openKind));
        for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason;
      }
    },
    async start() {
      for (const kind of inOrder()) await kind.start?.();
      for (const kind of inOrder()) kind.complete?.();
    },
    async close() {
      for (const kind of inOrder().toReversed()) await kind.close?.();
    },
  };
}
