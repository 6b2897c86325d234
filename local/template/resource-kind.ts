import type { RunContext } from '../run-context.ts';

/** One entry of a template's Resources; its properties still hold intrinsics. */
export interface TemplateResource {
  readonly logicalId: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** What knows how to run some resource types here. A new kind is one file and one line in resource-kinds.ts. */
export interface ResourceKind {
  readonly types: readonly string[];
  /** Opens before the other kinds, which may then refer to its resources while they open. */
  readonly opensFirst?: boolean;
  /** Called once, and only when the template has resources of these types; kinds open side by side. */
  open(resources: readonly TemplateResource[], context: RunContext): Promise<OpenKind>;
}

export interface OpenKind {
  /** The value of Ref. */
  ref(resource: TemplateResource): string;
  /** The value of Fn::GetAtt; undefined is reported as an attribute that is not available here. */
  attribute(resource: TemplateResource, name: string): unknown;
  /** Variables that every function gets, such as an endpoint's address; may differ per function. */
  environmentFor?(functionLogicalId: string): Record<string, string>;
  /** Called when every kind is open: from here on, all references resolve. */
  start?(): Promise<void>;
  /** Called when every kind has begun: all rules of access are known. */
  complete?(): void;
  close?(): Promise<void>;
}
