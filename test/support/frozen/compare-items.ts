import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { FrozenItem } from './read-frozen.ts';

/** Attributes whose values readers compare, so the values themselves must stay the same. */
const comparedAttributes = new Set([
  'status',
  'state',
  'action',
  'stop_reason',
  'is',
  'scope',
  'publish_state',
  'type',
  'bits',
  'counts',
]);

/**
 * What the frozen items have and `items` lack: items, attributes, and types of values. Additional items and attributes
 * are allowed.
 */
export function missingIn(items: readonly FrozenItem[], frozen: readonly FrozenItem[]): string[] {
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  return frozen.flatMap((item) => {
    const name = nameOf(item);
    const found = byName.get(name);
    return found === undefined ? [`${name} is missing`] : differences({ M: found }, { M: item }, name);
  });
}

/** An item's key as text. The key of an audit entry ends with a random id, so its action and target replace the id. */
function nameOf({ pk, sk, action, target }: FrozenItem): string {
  if (!pk.S.endsWith('AUDIT')) return `${pk.S} ${sk.S}`;
  return `${pk.S} ${sk.S.split('#')[0]} ${action?.S} ${target?.S}`;
}

function differences(value: AttributeValue | undefined, frozen: AttributeValue, path: string): string[] {
  const [type = ''] = Object.keys(frozen);
  const [typeNow] = Object.keys(value ?? {});
  if (value === undefined || typeNow === undefined) return [`${path} is missing`];
  if (typeNow !== type) return [`${path} is of type ${typeNow} instead of ${type}`];
  if (frozen.M !== undefined)
    return Object.entries(frozen.M).flatMap(([name, inner]) => [
      ...differences(value.M?.[name], inner, `${path} ${name}`),
      ...(comparedAttributes.has(name) && inner.S !== undefined && value.M?.[name]?.S !== inner.S
        ? [`${path} ${name} is ${value.M?.[name]?.S} instead of ${inner.S}`]
        : []),
    ]);
  if (frozen.L !== undefined)
    return frozen.L.flatMap((inner, index) => differences(value.L?.[index], inner, `${path}[${index}]`));
  return [];
}
