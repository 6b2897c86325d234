/** A JSON Schema as a client or an operator wrote it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Why a schema is not accepted: `#/properties/a/if`, `is not supported`. */
export interface SchemaProblem {
  /** A JSON pointer in a fragment. */
  place: string;
  problem: string;
}

const schemaBytes = 16 * 1024;
const schemaLevels = 32;
const schemaNodes = 2000;

/** Of arrays and objects in each other, in data and in the values of `enum`, `const` and annotations. */
const dataLevels = 512;

/** Of schemas that wait for each other: 512 levels of data with three each, such as `anyOf`, `$ref` and its target. */
const callLevels = 1600;

/** For small data with many alternatives. Every character of the data adds one. */
const freeSteps = 20_000;

/** How many characters are compared, counted or written in the time of one step. */
const charactersPerStep = 16;

const tooDeep = 'is nested too deeply';

/** Ends a check without a result: neither `not` nor `anyOf` can make one of it. */
class StoppedCheck extends Error {}

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !isList(value);
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isFilledList = (value: unknown): boolean => isList(value) && value.length > 0;
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);

/** A list, the only entry of a list, or nothing. */
const listOf = (value: unknown): readonly unknown[] =>
  isList(value) ? value : value === undefined ? [] : [value];

/** Own properties only: `toString` is not in an empty object. */
const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

function firstProblem<Entry, Problem>(
  entries: Iterable<Entry>,
  problemOf: (entry: Entry) => Problem | undefined,
): Problem | undefined {
  for (const entry of entries) {
    const problem = problemOf(entry);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const types = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', isBoolean],
  ['integer', Number.isInteger],
  ['number', (value) => typeof value === 'number'],
  ['string', isText],
  ['array', isList],
  ['object', isObject],
]);

/** Without repetitions, because every value is compared with each. */
const isType = (value: unknown): boolean =>
  isFilledList(listOf(value)) &&
  listOf(value).every((name, index, names) => types.has(name) && names.indexOf(name) === index);

const schemasByName = 'an object of schemas';

/** The form of a keyword's value; the keywords. Those with `schema` in their form contain schemas. */
const forms: readonly (readonly [form: string, fits: (value: unknown) => boolean, keywords: string])[] = [
  ['a schema', isSchema, 'additionalProperties propertyNames additionalItems not'],
  ['a schema or a list', (value) => isSchema(value) || isList(value), 'items'],
  ['a list of schemas', isFilledList, 'prefixItems anyOf oneOf allOf'],
  [schemasByName, isObject, 'properties $defs definitions'],
  ['a type, or a list of different types', isType, 'type'],
  ['a list of values', isFilledList, 'enum'],
  ['a list of names', (value) => isList(value) && value.every(isText), 'required'],
  [
    'a whole number from 0',
    (value) => Number.isInteger(value) && Number(value) >= 0,
    'minItems maxItems minLength maxLength minProperties maxProperties',
  ],
  ['a number', Number.isFinite, 'minimum maximum exclusiveMinimum exclusiveMaximum'],
  ['a number above 0', (value) => Number.isFinite(value) && Number(value) > 0, 'multipleOf'],
  ['true or false', isBoolean, 'uniqueItems'],
  [
    'anything',
    () => true,
    '$ref const $schema $comment title description default examples deprecated readOnly writeOnly format pattern contentEncoding contentMediaType discriminator',
  ],
];

const rules = new Map(
  forms.flatMap(([form, fits, keywords]) =>
    keywords.split(' ').map((keyword) => [keyword, { form, fits }] as const),
  ),
);

const escapeStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** The schemas directly in a schema, each with its pointer from there. */
const childrenOf = (schema: JsonSchema): (readonly [pointer: string, schema: unknown])[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const form = rules.get(keyword)?.form ?? '';
    if (!form.includes('schema')) return [];
    return form === schemasByName || isList(value)
      ? Object.entries(value as object).map(
          ([name, child]) => [`${keyword}/${escapeStep(name)}`, child] as const,
        )
      : [[keyword, value] as const];
  });

function targetOf(root: JsonSchema, reference: unknown): unknown {
  if (reference === '#') return root;
  const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]*)$/.exec(String(reference)) ?? [];
  return own(own(root, keyword), name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Undefined if the schema is accepted. */
export function problemOfSchema(schema: JsonSchema): SchemaProblem | undefined {
  try {
    charactersOf(schema);
  } catch {
    return { place: '#', problem: tooDeep };
  }
  if (new TextEncoder().encode(JSON.stringify(schema)).length > schemaBytes)
    return { place: '#', problem: `has more than ${schemaBytes} bytes` };
  return problemOfNode({ root: schema, nodes: 0, open: new Map() }, schema, '#', 1);
}

interface Survey {
  root: JsonSchema;
  nodes: number;
  /** True for the schemas that refer to the present one, false for those without a cycle. */
  open: Map<unknown, boolean>;
}

function problemOfNode(
  survey: Survey,
  schema: unknown,
  place: string,
  level: number,
): SchemaProblem | undefined {
  survey.nodes += 1;
  if (survey.nodes > schemaNodes) return { place: '#', problem: `has more than ${schemaNodes} schemas` };
  if (level > schemaLevels) return { place, problem: `is deeper than ${schemaLevels} levels` };
  if (!isSchema(schema)) return { place, problem: 'must be a schema' };
  if (!isObject(schema)) return undefined;
  return (
    firstProblem(Object.keys(schema), (keyword) => {
      const problem = problemOfKeyword(survey, schema, keyword);
      return problem === undefined ? undefined : { place: `${place}/${escapeStep(keyword)}`, problem };
    }) ??
    firstProblem(childrenOf(schema), ([pointer, child]) =>
      problemOfNode(survey, child, `${place}/${pointer}`, level + 1),
    )
  );
}

function problemOfKeyword(survey: Survey, schema: JsonSchema, keyword: string): string | undefined {
  const { root } = survey;
  const { items, prefixItems, $ref } = schema;
  const rule = rules.get(keyword);
  if (keyword === '$id' && schema === root) return undefined;
  if (rule === undefined || (keyword === 'additionalItems' && !isList(items))) return 'is not supported';
  if (keyword === 'items' && prefixItems !== undefined && isList(items)) return 'must be a schema';
  if (keyword === '$ref') {
    if (targetOf(root, $ref) === undefined) return 'must be #, #/$defs/NAME or #/definitions/NAME';
    if (closesCycle(survey, schema)) return 'leads back without a property or an item in between';
  }
  return rule.fits(schema[keyword]) ? undefined : `must be ${rule.form}`;
}

function closesCycle(survey: Survey, schema: unknown): boolean {
  const { root, open } = survey;
  const known = open.get(schema);
  if (known !== undefined || !isObject(schema)) return known === true;
  open.set(schema, true);
  const { $ref, allOf, anyOf, oneOf, not } = schema;
  const next = [$ref && targetOf(root, $ref), allOf, anyOf, oneOf, not].flatMap(listOf);
  const isClosed = next.some((child) => closesCycle(survey, child));
  open.set(schema, false);
  return isClosed;
}

/**
 * Whether OpenAI takes the schema as strict: every object closed (`additionalProperties: false`), every property
 * required, at every level.
 */
export function isStrict(schema: JsonSchema): boolean {
  const { properties, required, additionalProperties, type } = schema;
  if (properties !== undefined || listOf(type).includes('object')) {
    const names = Object.keys(properties ?? {});
    if (additionalProperties !== false || !names.every((name) => listOf(required).includes(name)))
      return false;
  }
  return childrenOf(schema).every(([, child]) => child === false || (isObject(child) && isStrict(child)));
}

interface Check {
  root: JsonSchema;
  /** That are left. */
  steps: number;
  /** Of the schemas that wait for each other. */
  level: number;
  /** The texts of the values of each `enum`. */
  allowed: Map<unknown, Set<string>>;
}

const startCheck = (root: JsonSchema, steps: number): Check => ({
  root,
  steps,
  level: 0,
  allowed: new Map(),
});

/**
 * Undefined if the data fits the schema, which `problemOfSchema` has accepted. Otherwise a sentence such as
 * `/age must be integer`, or `must be object` for the whole. Names that are only in the data are `*`.
 */
export function problemOfData(schema: JsonSchema, data: unknown): string | undefined {
  try {
    return problemOf(startCheck(schema, freeSteps + charactersOf(data)), schema, data);
  } catch (error) {
    if (error instanceof StoppedCheck) return error.message;
    throw error;
  }
}

/** About how many characters the data has as JSON. */
function charactersOf(data: unknown, level = 1): number {
  if (!isObject(data) && !isList(data)) return String(data).length + 2;
  if (level > dataLevels) throw new StoppedCheck(tooDeep);
  let characters = isList(data) ? 2 : Object.keys(data).join('"":').length;
  for (const value of Object.values(data)) characters += charactersOf(value, level + 1);
  return characters;
}

function spend(check: Check, steps: number): void {
  check.steps -= steps;
  if (check.steps < 0) throw new StoppedCheck('took too many steps to check');
}

const spendCharacters = (check: Check, text: string): void => spend(check, text.length / charactersPerStep);

/** A text that equal values share, whatever the order of their properties. */
function textOf(check: Check, value: unknown): string {
  spend(check, 1);
  if (isList(value)) return `[${value.map((item) => textOf(check, item))}]`;
  if (isObject(value))
    return `{${Object.keys(value)
      .sort()
      .map((name) => `${textOf(check, name)}:${textOf(check, value[name])}`)}}`;
  if (!isText(value)) return String(value);
  spendCharacters(check, value);
  return JSON.stringify(value);
}

function problemOf(check: Check, schema: unknown, data: unknown): string | undefined {
  spend(check, 1);
  if (!isObject(schema)) return schema === false ? 'is not allowed' : undefined;
  check.level += 1;
  if (check.level > callLevels) throw new StoppedCheck(tooDeep);
  const problem =
    problemOfValue(check, schema, data) ??
    problemOfNumber(schema, data) ??
    problemOfText(check, schema, data) ??
    problemOfArray(check, schema, data) ??
    problemOfObject(check, schema, data) ??
    problemOfOthers(check, schema, data);
  check.level -= 1;
  return problem;
}

function problemOfValue(check: Check, schema: JsonSchema, data: unknown): string | undefined {
  const { type, enum: values, const: only } = schema;
  const names = listOf(type);
  if (type !== undefined && !names.some((name) => types.get(name)?.(data)))
    return `must be ${names.join(' or ')}`;
  const isAllowed =
    (values === undefined || textsOf(check, values).has(textOf(check, data))) &&
    (only === undefined || textOf(check, only) === textOf(check, data));
  return isAllowed ? undefined : 'must be one of the allowed values';
}

function textsOf(check: Check, values: unknown): Set<string> {
  const texts = check.allowed.get(values) ?? new Set(listOf(values).map((value) => textOf(check, value)));
  check.allowed.set(values, texts);
  return texts;
}

/** Of floats as Python's jsonschema: the quotient as a float decides, unless it is too large for one. */
function isMultiple(value: number, unit: number): boolean {
  const quotient = value / unit;
  return Number.isInteger(unit) || !Number.isFinite(quotient)
    ? value % unit === 0
    : Number.isInteger(quotient);
}

function problemOfRange(size: number, least: unknown, most: unknown, unit?: string): string | undefined {
  const start = unit === undefined ? 'must be at' : 'must have at';
  if (size < Number(least)) return `${start} least ${least}${unit ?? ''}`;
  return size > Number(most) ? `${start} most ${most}${unit ?? ''}` : undefined;
}

function problemOfNumber(schema: JsonSchema, data: unknown): string | undefined {
  if (typeof data !== 'number') return undefined;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (data <= Number(exclusiveMinimum)) return `must be more than ${exclusiveMinimum}`;
  if (data >= Number(exclusiveMaximum)) return `must be less than ${exclusiveMaximum}`;
  if (multipleOf !== undefined && !isMultiple(data, Number(multipleOf)))
    return `must be a multiple of ${multipleOf}`;
  return problemOfRange(data, minimum, maximum);
}

function problemOfText(check: Check, schema: JsonSchema, data: unknown): string | undefined {
  const { minLength, maxLength } = schema;
  if (!isText(data) || (minLength ?? maxLength) === undefined) return undefined;
  spendCharacters(check, data);
  const codePoints = data.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ' ').length;
  return problemOfRange(codePoints, minLength, maxLength, ' characters');
}

/** Adds a step to the path before a problem. */
const under = (step: string | number, problem: string | undefined): string | undefined =>
  problem && `/${step}${problem.startsWith('/') ? '' : ' '}${problem}`;

/** `items` as a list is draft 7's form of `prefixItems`. */
function itemSchema({ items, prefixItems, additionalItems }: JsonSchema, index: number): unknown {
  const first = listOf(isList(items) ? items : prefixItems);
  return index < first.length ? first[index] : isList(items) ? additionalItems : items;
}

function problemOfArray(check: Check, schema: JsonSchema, data: unknown): string | undefined {
  if (!isList(data)) return undefined;
  const problem =
    problemOfRange(data.length, schema.minItems, schema.maxItems, ' items') ??
    firstProblem(data.keys(), (index) =>
      under(index, problemOf(check, itemSchema(schema, index), data[index])),
    );
  if (problem !== undefined || schema.uniqueItems !== true) return problem;
  return new Set(data.map((item) => textOf(check, item))).size < data.length
    ? 'must not have equal items'
    : undefined;
}

const propertySchema = (schema: JsonSchema, name: string): unknown =>
  own(schema.properties, name) ?? schema.additionalProperties;

function problemOfObject(check: Check, schema: JsonSchema, data: unknown): string | undefined {
  if (!isObject(data)) return undefined;
  const { properties, additionalProperties, propertyNames, minProperties, maxProperties } = schema;
  const required = listOf(schema.required).map(String);
  spend(check, required.length);
  const missing = required.find((name) => !Object.hasOwn(data, name));
  if (missing !== undefined) return `must have the property ${missing}`;
  if ((properties ?? additionalProperties ?? propertyNames ?? minProperties ?? maxProperties) === undefined)
    return undefined;
  const names = Object.keys(data);
  spend(check, names.length);
  return (
    problemOfRange(names.length, minProperties, maxProperties, ' properties') ??
    firstProblem(names, (name) => problemOfProperty(check, schema, name, data[name]))
  );
}

function problemOfProperty(
  check: Check,
  schema: JsonSchema,
  name: string,
  value: unknown,
): string | undefined {
  spendCharacters(check, name);
  const { properties, propertyNames } = schema;
  const wrongName = problemOf(check, propertyNames, name);
  if (wrongName !== undefined) return `has a property whose name ${wrongName}`;
  const isNamed = own(properties, name) !== undefined;
  const child = propertySchema(schema, name);
  if (child === false && !isNamed) return 'must not have further properties';
  return under(isNamed ? escapeStep(name) : '*', problemOf(check, child, value));
}

function referenced(check: Check, schema: JsonSchema): readonly unknown[] {
  const { $ref, allOf } = schema;
  if (!isText($ref)) return listOf(allOf);
  spendCharacters(check, $ref);
  return [targetOf(check.root, $ref), ...listOf(allOf)];
}

function problemOfOthers(check: Check, schema: JsonSchema, data: unknown): string | undefined {
  const { anyOf, oneOf, not } = schema;
  const fits = (part: unknown): boolean => problemOf(check, part, data) === undefined;
  const problem = firstProblem(referenced(check, schema), (part) => problemOf(check, part, data));
  if (problem !== undefined) return problem;
  if (anyOf !== undefined && !listOf(anyOf).some(fits)) return 'must match at least one of the alternatives';
  if (oneOf !== undefined && listOf(oneOf).filter(fits).length !== 1)
    return 'must match exactly one of the alternatives';
  return not !== undefined && fits(not) ? 'must not match the excluded schema' : undefined;
}

/** For all searched instances of a schema together. */
const searchSteps = 100_000;

/** The smallest instance that fits, for the demo model; undefined if none was found. */
export function smallestInstance(schema: JsonSchema): unknown {
  const check = startCheck(schema, searchSteps);
  try {
    for (let levels = 0; levels <= schemaLevels; levels += 1) {
      const found = instanceOf(check, [schema], levels);
      if (found !== undefined) return found;
    }
  } catch (error) {
    if (!(error instanceof StoppedCheck)) throw error;
  }
  return undefined;
}

/** With the targets of `$ref` and the parts of `allOf` as schemas of their own. */
const flatten = (check: Check, schemas: readonly unknown[]): JsonSchema[] =>
  schemas.flatMap((schema) => {
    spend(check, 1);
    if (!isObject(schema)) return schema === false ? [{ not: true }] : [];
    const { $ref, allOf, ...rest } = schema;
    return [rest, ...flatten(check, referenced(check, schema))];
  });

/** @param levels of arrays and objects that it may have */
function instanceOf(check: Check, schemas: readonly unknown[], levels: number): unknown {
  const nodes = flatten(check, schemas);
  const fits = (value: unknown): boolean =>
    value !== undefined && nodes.every((node) => problemOf(check, node, value) === undefined);
  const choice = nodes.find(({ anyOf, oneOf }) => anyOf ?? oneOf);
  if (choice !== undefined) {
    const { anyOf, oneOf, ...rest } = choice;
    const others = [
      ...nodes.filter((node) => node !== choice),
      anyOf === undefined ? rest : { ...rest, ...(oneOf !== undefined && { oneOf }) },
    ];
    for (const alternative of listOf(anyOf ?? oneOf)) {
      const found = instanceOf(check, [alternative, ...others], levels);
      if (fits(found)) return found;
    }
    return undefined;
  }
  const values = nodes.flatMap((node) =>
    listOf(node.enum ?? (node.const === undefined ? undefined : [node.const])),
  );
  if (values.length > 0) return values.find(fits);
  const allows = (type: string): boolean =>
    nodes.every((node) => node.type === undefined || listOf(node.type).includes(type));
  const small = [null, false, true, ...numbersFor(nodes), ...textsFor(check, nodes)].find(fits);
  if (small !== undefined && !nodes.some(({ type, properties }) => properties && !type)) return small;
  return [
    allows('array') && arrayFor(check, nodes, levels),
    allows('object') && objectFor(check, nodes, levels),
  ].find(fits);
}

const largest = (nodes: readonly JsonSchema[], keyword: string): number =>
  Math.max(0, ...nodes.map((node) => Number(node[keyword] ?? 0)));

function numbersFor(nodes: readonly JsonSchema[]): number[] {
  const limits = nodes.flatMap((node) => [
    node.minimum,
    node.exclusiveMinimum,
    node.maximum,
    node.exclusiveMaximum,
  ]);
  const bounds = limits.filter((limit) => typeof limit === 'number');
  const unit = largest(nodes, 'multipleOf') || 1;
  const middle = bounds.reduce((sum, bound) => sum + bound, 0) / (bounds.length || 1);
  return [0, ...bounds, middle].flatMap((bound) => [
    ...[bound],
    ...[0, 1, -1, 2, -2].map((distance) => (Math.round(bound / unit) + distance) * unit),
  ]);
}

function textsFor(check: Check, nodes: readonly JsonSchema[]): string[] {
  const length = largest(nodes, 'minLength');
  spend(check, length);
  return [0, 1, 2, 3].map((more) => 'x'.repeat(length + more));
}

function arrayFor(check: Check, nodes: readonly JsonSchema[], levels: number): unknown {
  const items: unknown[] = [];
  while (items.length < largest(nodes, 'minItems')) {
    const schemas = nodes.map((node) => itemSchema(node, items.length));
    const different = nodes.some((node) => node.uniqueItems) ? [{ not: { enum: [...items] } }] : [];
    const item = levels > 0 ? instanceOf(check, [...schemas, ...different], levels - 1) : undefined;
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

function objectFor(check: Check, nodes: readonly JsonSchema[], levels: number): unknown {
  const names = new Set(nodes.flatMap((node) => listOf(node.required)).map(String));
  for (const name of [...nodes.flatMap((node) => Object.keys(node.properties ?? {})), 'a', 'b', 'c'])
    if (names.size < largest(nodes, 'minProperties')) names.add(name);
  const entries: [string, unknown][] = [];
  for (const name of names) {
    const schemas = nodes.map((node) => propertySchema(node, name));
    const value = levels > 0 ? instanceOf(check, schemas, levels - 1) : undefined;
    if (value === undefined) return undefined;
    entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}
