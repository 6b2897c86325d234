import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';

/** One entry of a template's Resources. Its properties may still contain intrinsic functions. */
export interface TemplateResource {
  readonly logicalId: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * Rejects a resource that cannot run here as in AWS.
 * @throws Error, always: it names the resource and the reason
 */
export function reject({ logicalId, type }: Omit<TemplateResource, 'properties'>, reason: string): never {
  throw new Error(`${logicalId} (${type}): ${reason}`);
}

/** @throws Error for a property that is not in `supported` */
export function rejectOthers(
  resource: TemplateResource,
  properties: object,
  supported: readonly string[],
  where = '',
): void {
  const other = Object.keys(properties).find((name) => !supported.includes(name));
  if (other !== undefined) reject(resource, `${other}${where} is not available locally`);
}

/** Runs some resource types on this machine. resource-kinds.ts lists all kinds. */
export interface ResourceKind {
  readonly types: readonly string[];
  /** Opens before the other kinds, so that they can refer to its resources while they open. */
  readonly opensFirst?: boolean;
  /**
   * Whether the kind opens even if the template has no resource of these types. It does if there may be resources of an
   * earlier template, for example in the data folder.
   */
  hasRetained?(options: RunOptions): boolean;
  /**
   * Prepares the resources, for example starts their emulator. Called once, and only if the template has resources of
   * these types or `hasRetained` returns true. Kinds open concurrently, so a reference to a resource of another kind
   * may not resolve yet, unless that kind has `opensFirst`.
   */
  open(resources: readonly TemplateResource[], context: RunContext): Promise<OpenKind>;
}

export interface OpenKind {
  /** The value of Ref. */
  ref(resource: TemplateResource): string;
  /** The value of Fn::GetAtt. Undefined fails the start: the attribute is not available here. */
  attribute(resource: TemplateResource, name: string): unknown;
  /** Variables for a function of the template, such as an endpoint's URL. */
  environmentFor?(functionLogicalId: string): Record<string, string>;
  /** Starts the resources. Called after every kind has opened, so references to all resources resolve. */
  start?(): Promise<void>;
  /** Called after every kind has started: all access rules are known. */
  complete?(): void;
  close?(): Promise<void>;
}
