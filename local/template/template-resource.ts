/** Its properties may still contain intrinsic functions. */
export interface TemplateResource {
  readonly logicalId: string;
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

export function reject({ logicalId, type }: Omit<TemplateResource, 'properties'>, reason: string): never {
  throw new Error(`${logicalId} (${type}): ${reason}`);
}

export function rejectOthers(
  resource: TemplateResource,
  properties: object,
  supported: readonly string[],
  where = '',
): void {
  const other = Object.keys(properties).find((name) => !supported.includes(name));
  if (other !== undefined) reject(resource, `${other}${where} is not available locally`);
}
