import {
  bound,
  type Check,
  checkAll,
  escapeStep,
  firstOf,
  isBoolean,
  isList,
  isObject,
  isText,
  listOf,
  own,
  type Problem,
  problemOf,
  rules,
  type SchemaObject,
  StoppedCheck,
  schemaForms,
  spend,
  targetOf,
  under,
} from './json-schema-rules.ts';

export type JsonSchema = SchemaObject;

const schemaBytes = 16 * 1024;
const schemaLevels = 32;
const schemaNodes = 2000;

/** In data, and in the text of a schema with its `enum`, `const` and annotations. */
const dataLevels = 512;

/** Each character of the data adds one step. */
const freeSteps = 20_000;

const searchSteps = 100_000;

/** The generators of the schemas that apply to one value wait for each other. */
const choiceSchemas = 200;

function unlessStopped<Result, Stopped>(run: () => Result, stopped: (message: string) => Stopped) {
  try {
    return run();
  } catch (error) {
    if (error instanceof StoppedCheck) return stopped(error.message);
    // An overflow of the stack.
    if (error instanceof RangeError) return stopped('is nested too deeply');
    throw error;
  }
}

const startCheck = (root: JsonSchema, steps: number): Check => ({
  ...{ root, steps, level: 0, texts: new Map(), names: new Map() },
});

/**
 * Undefined if the data fits the schema, which `problemOfSchema` must have accepted. Otherwise such as `/age must be
 * integer`, with `*` for names that are only in the data.
 */
export function problemOfData(schema: JsonSchema, data: unknown): string | undefined {
  return unlessStopped(
    () => problemOf(startCheck(schema, freeSteps + charactersOf(data)), schema, data) || undefined,
    (message) => message,
  );
}

/** @throws StoppedCheck if the data has more than `dataLevels` levels */
function charactersOf(data: unknown, level = 1): number {
  if (!isObject(data) && !isList(data)) return String(data).length + 2;
  bound(level, dataLevels, 'is nested too deeply');
  return Object.entries(data).reduce(
    (sum, [name, value]) => sum + name.length + charactersOf(value, level + 1),
    2,
  );
}

const childrenOf = (schema: JsonSchema): (readonly [pointer: string, schema: unknown])[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const form = rules.get(keyword)?.isWellFormed;
    if (!schemaForms.includes(form)) return [];
    return form === isObject || isList(value)
      ? Object.entries(value ?? {}).map(([name, child]) => [`${keyword}/${escapeStep(name)}`, child] as const)
      : [[keyword, value] as const];
  });

/** Undefined if the schema is accepted. Otherwise such as `#/properties/a/if is not supported`. */
export function problemOfSchema(schema: JsonSchema, maxLevels = schemaLevels): string | undefined {
  return unlessStopped(
    () => {
      charactersOf(schema);
      const { length } = new TextEncoder().encode(JSON.stringify(schema));
      bound(length, schemaBytes, `has more than ${schemaBytes} bytes`);
      const problem = problemBelow(schema, maxLevels);
      return problem ? `#${problem}` : undefined;
    },
    (message) => `# ${message}`,
  );
}

function problemBelow(root: JsonSchema, maxLevels: number): Problem {
  let nodes = 0;
  /** True while the search below a schema runs, then false: a circle that is found ends the whole check. */
  const open = new Map<unknown, boolean>();
  /** Whether the references of a schema lead into a circle in which no step leads into the data. */
  const leadsBack = (schema: unknown): boolean => {
    const known = open.get(schema);
    if (known !== undefined || !isObject(schema)) return known === true;
    open.set(schema, true);
    const { $ref, allOf, anyOf, oneOf, not } = schema;
    const isClosed = [$ref && targetOf(root, String($ref)), allOf, anyOf, oneOf, not]
      .flatMap(listOf)
      .some(leadsBack);
    open.set(schema, false);
    return isClosed;
  };
  const problemOfKeyword = (schema: JsonSchema, keyword: string): Problem => {
    if (keyword === '$id' && schema === root) return undefined;
    const rule = rules.get(keyword);
    if (!rule || (keyword === 'additionalItems' && !isList(schema.items))) return 'is not supported';
    const value = schema[keyword];
    if (!rule.isWellFormed(value)) return 'is malformed';
    if (keyword !== '$ref') return undefined;
    if (targetOf(root, String(value)) === undefined) return 'leads to no schema in $defs';
    return leadsBack(schema) && 'leads back to itself';
  };
  const problemOfNode = (schema: unknown, level: number): Problem => {
    nodes += 1;
    bound(nodes, schemaNodes, `has more than ${schemaNodes} schemas`);
    bound(level, maxLevels, `has more than ${maxLevels} levels`);
    if (!isObject(schema)) return !isBoolean(schema) && 'is malformed';
    return (
      firstOf(Object.keys(schema), (keyword) =>
        under(escapeStep(keyword), problemOfKeyword(schema, keyword)),
      ) ?? firstOf(childrenOf(schema), ([pointer, child]) => under(pointer, problemOfNode(child, level + 1)))
    );
  };
  return problemOfNode(root, 1);
}

/** Whether the schema has the form that OpenAI's strict mode needs: an object, not `anyOf`, at the root. */
export const isStrict = (schema: JsonSchema): boolean => schema.type === 'object' && isStrictNode(schema);

function isStrictNode(schema: JsonSchema): boolean {
  const { properties, required, additionalProperties, type, $ref, anyOf, oneOf, allOf, not } = schema;
  if ((type ?? $ref ?? anyOf) === undefined || (oneOf ?? allOf ?? not) !== undefined) return false;
  const isClosed =
    additionalProperties === false &&
    Object.keys(properties ?? {}).every((name) => listOf(required).includes(name));
  return (
    (isClosed || !(properties ?? listOf(type).includes('object'))) &&
    childrenOf(schema).every(([, child]) => child === false || (isObject(child) && isStrictNode(child)))
  );
}

/** For the demo model. Undefined if none was found. */
export function smallestInstance(schema: JsonSchema): unknown {
  const check = startCheck(schema, searchSteps);
  return unlessStopped(
    () =>
      Array(schemaLevels)
        .keys()
        .map((levels) => instanceOf(check, [schema], levels))
        .find(isDefined),
    () => undefined,
  );
}

/**
 * Each choice of alternatives, as the list of schemas that then apply to the same data. An `anyOf` beside a `oneOf` is
 * ignored.
 */
function* choicesOf(
  check: Check,
  [schema, ...others]: readonly unknown[],
  count = 0,
): Generator<JsonSchema[]> {
  spend(check, 1);
  bound(count, choiceSchemas, 'has too many schemas for one value');
  if (isObject(schema)) {
    const { $ref, allOf, anyOf = [true], oneOf = anyOf } = schema;
    const target = isText($ref) ? [targetOf(check.root, $ref)] : [];
    for (const alternative of listOf(oneOf))
      for (const choice of choicesOf(check, [...target, ...listOf(allOf), alternative, ...others], count + 1))
        yield [schema, ...choice];
  } else if (others.length > 0) yield* choicesOf(check, others, count + 1);
  else yield [];
}

const isDefined = (value: unknown): boolean => value !== undefined;

const instanceOf = (check: Check, schemas: readonly unknown[], levels: number): unknown =>
  choicesOf(check, schemas)
    .flatMap((nodes) => candidatesOf(check, nodes, levels))
    .find((value) => isDefined(value) && !checkAll(schemas, value, check));

function candidatesOf(check: Check, nodes: readonly JsonSchema[], levels: number): unknown[] {
  const all = (keyword: string): unknown[] => nodes.flatMap((node) => listOf(node[keyword]));
  const most = (keyword: string): number => Math.max(0, ...all(keyword).map(Number));
  const child = (schemas: readonly unknown[]): unknown =>
    levels > 0 ? instanceOf(check, schemas, levels - 1) : undefined;
  const [length, size] = [most('minLength'), most('minItems')];
  spend(check, length + size);
  const items = Array.from({ length: size }, (_, index) =>
    child(nodes.map(({ items, prefixItems }) => listOf(prefixItems)[index] ?? items)),
  );
  const required = new Set(all('required').map(String));
  const named = all('properties').flatMap((properties) => Object.keys(properties as object));
  const properties = [...new Set([...required, ...named, ...'abc'])]
    .slice(0, Math.max(required.size, most('minProperties')))
    .map((name) => [
      name,
      child(nodes.map((node) => own(node.properties, name) ?? node.additionalProperties)),
    ]);
  const unit = most('multipleOf') || 1;
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].flatMap(all).map(Number);
  const middle = bounds.reduce((sum, value) => sum + value, 0) / bounds.length;
  return [
    ...all('enum'),
    ...nodes.map((node) => node.const),
    properties.every(([, value]) => value !== undefined) && Object.fromEntries(properties),
    !items.includes(undefined) && items,
    ...[null, false, true],
    ...[0, ...bounds, middle].flatMap((value) => [
      value,
      ...[0, 1, -1].map((more) => (Math.round(value / unit) + more) * unit),
    ]),
    ...['', 'x', 'xx'].map((more) => 'x'.repeat(length) + more),
  ];
}
