import {
  isBoolean,
  isList,
  isObject,
  isText,
  listOf,
  own,
  type SchemaObject,
} from '#contract/json-schema-rules.ts';

/** Why an operation is no tool. */
export class Skipped extends Error {}

/** What unfolding a document may take for one operation. Replies check schemas of as many nodes. */
const mostNodes = 2000;

export interface Conversion {
  document: SchemaObject;
  /** Of OpenAPI 3.0, whose schemas are not those of JSON Schema. */
  isOld: boolean;
  /** That the operation has so far. */
  nodes: number;
}

/** The value that a reference leads to, for a value with one. */
export function resolved(document: SchemaObject, value: unknown, open: readonly string[] = []): SchemaObject {
  const reference = isObject(value) ? value.$ref : undefined;
  if (!isText(reference)) return isObject(value) ? value : {};
  if (open.includes(reference)) throw new Skipped(`${reference} leads back to itself`);
  return resolved(document, targetOf(document, reference), [...open, reference]);
}

function targetOf(document: SchemaObject, reference: string): unknown {
  if (!reference.startsWith('#/')) throw new Skipped(`the reference ${reference} is not supported`);
  return decodeURIComponent(reference.slice(2))
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, step) => (Object.hasOwn(Object(value), step) ? Object(value)[step] : undefined),
      document,
    );
}

/** Neither the model nor the check of arguments needs the first ones. Only the server checks the last two. */
const omitted = new Set(
  [
    '$schema $id $anchor $comment $defs definitions xml externalDocs discriminator readOnly writeOnly',
    'unevaluatedItems unevaluatedProperties',
  ].flatMap((names) => names.split(' ')),
);
const children = new Set(
  'additionalProperties additionalItems items not propertyNames allOf anyOf oneOf prefixItems'.split(' '),
);
const annotations = new Set('title description default examples example deprecated summary'.split(' '));

/**
 * A schema of a request as JSON Schema without references. A reference that leads back to a schema around it accepts any
 * value.
 * @throws Skipped
 */
export function convertSchema(
  conversion: Conversion,
  schema: unknown,
  open: readonly string[] = [],
): unknown {
  conversion.nodes += 1;
  if (conversion.nodes > mostNodes) throw new Skipped(`it has more than ${mostNodes} schemas`);
  if (!isObject(schema)) return schema;
  const { $ref, ...rest } = schema;
  if (!isText($ref)) return convertKeywords(conversion, schema, open);
  if (open.includes($ref)) return {};
  const target = convertSchema(conversion, targetOf(conversion.document, $ref), [...open, $ref]);
  // OpenAPI 3.0 ignores what is next to a reference.
  if (conversion.isOld || Object.keys(rest).length === 0) return target;
  const further = convertKeywords(conversion, rest, open);
  const isAnnotated = Object.keys(rest).every((keyword) => annotations.has(keyword));
  return isAnnotated && isObject(target) ? { ...target, ...further } : { allOf: [target, further] };
}

function convertKeywords(
  conversion: Conversion,
  schema: SchemaObject,
  open: readonly string[],
): SchemaObject {
  const convert = (child: unknown) => convertSchema(conversion, child, open);
  const readOnly = readOnlyNames(conversion, schema.properties);
  const used = Object.entries(schema).filter(
    ([keyword]) => !omitted.has(keyword) && !keyword.startsWith('x-'),
  );
  const entries = used.flatMap(([keyword, value]): (readonly [string, unknown])[] => {
    if (keyword === 'properties') {
      const named = Object.entries(Object(value)).filter(([name]) => !readOnly.includes(name));
      return [[keyword, Object.fromEntries(named.map(([name, child]) => [name, convert(child)]))]];
    }
    if (children.has(keyword)) return [[keyword, isList(value) ? value.map(convert) : convert(value)]];
    if (keyword === 'required')
      return [[keyword, listOf(value).filter((name) => !readOnly.includes(String(name)))]];
    if (keyword === 'example') return [['examples', [value]]];
    return convertOld(schema, keyword, value);
  });
  return Object.fromEntries(entries);
}

/** Properties that requests do not have. */
const readOnlyNames = ({ document }: Conversion, properties: unknown): string[] =>
  Object.entries(Object(properties) as Record<string, unknown>)
    .filter(([, property]) =>
      [property, resolved(document, property)].some((each) => own(each, 'readOnly') === true),
    )
    .map(([name]) => name);

/** Keywords with another form in OpenAPI 3.0. Documents of 3.1 have them too, although they mean nothing there. */
function convertOld(schema: SchemaObject, keyword: string, value: unknown): (readonly [string, unknown])[] {
  switch (keyword) {
    case 'nullable':
      return [];
    case 'type':
      return [[keyword, schema.nullable === true ? [...new Set([...listOf(value), 'null'])] : value]];
    case 'minimum':
      return [[schema.exclusiveMinimum === true ? 'exclusiveMinimum' : keyword, value]];
    case 'maximum':
      return [[schema.exclusiveMaximum === true ? 'exclusiveMaximum' : keyword, value]];
    default:
      return keyword.startsWith('exclusive') && isBoolean(value) ? [] : [[keyword, value]];
  }
}
