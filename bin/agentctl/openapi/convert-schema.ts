import {
  isBoolean,
  isList,
  isObject,
  isText,
  listOf,
  own,
  type SchemaObject,
} from '#contract/json-schema-rules.ts';
import { withSchemas } from '#domain/tools/pin-tools.ts';

/** The message says why an operation cannot be a tool. */
export class Skipped extends Error {}

/** Of one operation. `problemOfSchema` accepts as many in one schema. */
const mostNodes = 2000;

export interface Conversion {
  document: SchemaObject;
  /** Of OpenAPI 3.0, whose schemas are not those of JSON Schema. */
  isOld: boolean;
  nodes: number;
}

/**
 * @param open the references that led to the value
 * @returns an empty object if there is none
 * @throws Skipped for a reference that leads back to itself, or is no path in the document (`#/…`)
 */
export function resolved(document: SchemaObject, value: unknown, open: readonly string[] = []): SchemaObject {
  const reference = own(value, '$ref');
  if (!isText(reference)) return isObject(value) ? value : {};
  if (open.includes(reference)) throw new Skipped(`${reference} leads back to itself`);
  return resolved(document, targetOf(document, reference), [...open, reference]);
}

function targetOf(document: SchemaObject, reference: string): unknown {
  if (!reference.startsWith('#/')) throw new Skipped(`the reference ${reference} is not supported`);
  const steps = decodeURIComponent(reference).split('/').slice(1);
  return steps.reduce<unknown>((value, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    return isList(value) ? value[Number(name)] : own(value, name);
  }, document);
}

/** `convertSchema` itself reads `nullable` and `example`. Only the server checks those of the second line. */
const omitted = new Set(
  [
    'nullable example $schema $id $anchor $comment $defs definitions xml externalDocs discriminator writeOnly',
    'unevaluatedItems unevaluatedProperties',
  ].flatMap((names) => names.split(' ')),
);

/**
 * A reference that leads back to a schema around it accepts any value.
 * @param open the references around the schema
 * @throws Skipped for too many schemas, or a reference that is no path in the document (`#/…`)
 */
export function convertSchema(
  conversion: Conversion,
  schema: unknown,
  open: readonly string[] = [],
): unknown {
  conversion.nodes += 1;
  if (conversion.nodes > mostNodes) throw new Skipped(`it has more than ${mostNodes} schemas`);
  if (!isObject(schema)) return schema;
  const { $ref, ...others } = schema;
  if (isText($ref)) {
    if (open.includes($ref)) return {};
    const target = targetOf(conversion.document, $ref);
    // OpenAPI 3.0 ignores what is next to a reference.
    const whole = conversion.isOld || !isObject(target) ? target : joined(target, others);
    return convertSchema(conversion, whole, [...open, $ref]);
  }
  const kept = Object.entries(schema).filter(([name]) => !omitted.has(name) && !name.startsWith('x-'));
  const convert = (child: unknown) => convertSchema(conversion, child, open);
  const { properties, required, ...rest } = withSchemas(Object.fromEntries(kept), convert);
  const isWritten = (name: unknown) => own(own(properties, String(name)), 'readOnly') !== true;
  const written = Object.entries(Object(properties)).filter(([name]) => isWritten(name));
  return {
    ...exclusiveBounds.reduce(withNumericBound, rest),
    // OpenAPI 3.0 has no type for null.
    ...(schema.nullable === true && isText(schema.type) && { type: [schema.type, 'null'] }),
    ...(properties !== undefined && { properties: Object.fromEntries(written) }),
    ...(required !== undefined && { required: listOf(required).filter(isWritten) }),
    ...(Object.hasOwn(schema, 'example') && { examples: [schema.example] }),
  };
}

const joined = (target: SchemaObject, others: SchemaObject): SchemaObject =>
  Object.keys(others).some((keyword) => Object.hasOwn(target, keyword))
    ? { allOf: [target, others] }
    : { ...target, ...others };

const exclusiveBounds = [
  ['minimum', 'exclusiveMinimum'],
  ['maximum', 'exclusiveMaximum'],
] as const;

/** In OpenAPI 3.0, `exclusiveMinimum` says whether `minimum` itself is excluded. In JSON Schema it is a number. */
function withNumericBound(schema: SchemaObject, [inclusive, exclusive]: readonly [string, string]) {
  if (!isBoolean(schema[exclusive])) return schema;
  const { [exclusive]: isExclusive, [inclusive]: value, ...rest } = schema;
  return value === undefined ? rest : { ...rest, [isExclusive === true ? exclusive : inclusive]: value };
}
