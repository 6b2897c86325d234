import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';
import type { TemplateResource } from './template-resource.ts';

export interface ResourceKind {
  readonly types: readonly string[];
  /** Other kinds may refer to its resources while they open. */
  readonly opensFirst?: boolean;
  /** Whether the kind opens even without a resource: there may be some of an earlier template. */
  hasRetained?(options: RunOptions): boolean;
  /** Kinds open concurrently: references may not resolve yet, except from other kinds to those with `opensFirst`. */
  open(resources: readonly TemplateResource[], context: RunContext): Promise<OpenKind>;
}

export interface OpenKind {
  ref(resource: TemplateResource): string;
  /** Undefined if the attribute is not available here. */
  attribute(resource: TemplateResource, name: string): unknown;
  environmentFor?(functionLogicalId: string): Record<string, string>;
  /** Called after every kind has opened, so references to all resources resolve. */
  start?(): Promise<void>;
  /** Called after every kind has started: the policies of all resources are known. */
  complete?(): void;
  close?(): Promise<void>;
}
