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

/** For all attempts to make an instance of a schema. */
const searchSteps = 100_000;

/** That apply to one value of an instance, so that generators do not wait for more of each other. */
const choiceSchemas = 200;

/** Ends a check without a result: neither `not` nor `anyOf` can make one of it. */
class StoppedCheck extends Error {}

function bound(value: number, limit: number, message: string): void {
  if (value > limit) throw new StoppedCheck(message);
}

function unlessStopped<Result, Stopped>(run: () => Result, stopped: (message: string) => Stopped) {
  try {
    return run();
  } catch (error) {
    if (error instanceof StoppedCheck) return stopped(error.message);
    throw error;
  }
}

interface Check {
  root: JsonSchema;
  /** That are left. */
  steps: number;
  /** Of the schemas that wait for each other. */
  level: number;
  /** The texts of the values of each `enum`. */
  texts: Map<unknown, Set<string>>;
}

function spend(check: Check, steps: number): void {
  check.steps -= steps;
  bound(0, check.steps, 'took too many steps to check');
}

const spendOn = (check: Check, text: string): void => spend(check, text.length / charactersPerStep);

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !isList(value);
const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);
const isInteger = (value: unknown): value is number => Number.isInteger(value);
const isCount = (value: unknown): boolean => isInteger(value) && value >= 0;
const isPositive = (value: unknown): boolean => isFiniteNumber(value) && value > 0;
const isTextList = (value: unknown): boolean => isList(value) && value.every(isText);
const isFilledList = (value: unknown): boolean => isList(value) && value.length > 0;

// The forms of keywords with schemas.
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);
const isSchemaList = (value: unknown): boolean => isFilledList(value);
const isSchemaOrList = (value: unknown): boolean => isSchema(value) || isList(value);
const schemaForms: readonly unknown[] = [isObject, isSchema, isSchemaList, isSchemaOrList];

const types = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', isBoolean],
  ['integer', isInteger],
  ['number', isNumber],
  ['string', isText],
  ['array', isList],
  ['object', isObject],
]);

/** A list, the only entry of a list, or nothing. */
const listOf = (value: unknown): readonly unknown[] =>
  isList(value) ? value : value === undefined ? [] : [value];

/** Without repetitions, because every value is compared with each. */
const isType = (value: unknown): boolean =>
  isFilledList(listOf(value)) &&
  listOf(value).every((name, index, names) => types.has(name) && names.indexOf(name) === index);

/** Own properties only: `toString` is not in an empty object. */
const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

type Problem = string | false | undefined;

function firstOf<Entry, Found>(entries: Iterable<Entry>, find: (entry: Entry) => Found): Found | undefined {
  for (const entry of entries) {
    const found = find(entry);
    if (found) return found;
  }
  return undefined;
}

const escapeStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Adds a step to the path before a problem. */
const under = (step: string | number, problem: Problem): Problem =>
  problem && `/${step}${problem.startsWith('/') ? '' : ' '}${problem}`;

/** A text that equal values share, whatever the order of their properties. */
function textOf(check: Check, value: unknown): string {
  spend(check, 1);
  if (isList(value)) return `[${value.map((item) => textOf(check, item))}]`;
  if (isObject(value))
    return `{${Object.keys(value)
      .sort()
      .map((name) => textOf(check, name) + textOf(check, value[name]))}}`;
  if (!isText(value)) return String(value);
  spendOn(check, value);
  return JSON.stringify(value);
}

/** @param value of the keyword, in its form */
type CheckKeyword = (value: never, data: unknown, check: Check, schema: JsonSchema) => Problem;

const rule = (isWellFormed: (value: unknown) => boolean, check?: CheckKeyword) => ({ isWellFormed, check });

/** False for data of another type, which no limit excludes. */
type SizeOf = (data: unknown, check: Check) => number | false;
type IsWrong = (size: number, limit: number) => boolean;

const limit = (sizeOf: SizeOf, isWrong: IsWrong, start: string, unit = ''): CheckKeyword => {
  return (value: number, data, check) => {
    const size = sizeOf(data, check);
    return size !== false && isWrong(size, value) && `must ${start} ${value}${unit}`;
  };
};

const isLess: IsWrong = (size, least) => size < least;
const isMore: IsWrong = (size, most) => size > most;
const numberOf: SizeOf = (data) => isNumber(data) && data;

/** Of floats as Python's jsonschema: the quotient as a float decides, unless it is too large for one. */
const isNoMultiple: IsWrong = (size, unit) =>
  (isInteger(unit) || !isFiniteNumber(size / unit) ? size % unit : (size / unit) % 1) !== 0;

const countCodePoints: SizeOf = (data, check) => {
  if (!isText(data)) return false;
  spendOn(check, data);
  return data.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ' ').length;
};

const countItems: SizeOf = (data) => isList(data) && data.length;

const countProperties: SizeOf = (data, check) => {
  if (!isObject(data)) return false;
  const { length } = Object.keys(data);
  spend(check, length / charactersPerStep);
  return length;
};

const eachProperty = (
  data: unknown,
  check: Check,
  problemOfProperty: (name: string, value: unknown) => Problem,
) =>
  isObject(data) &&
  firstOf(Object.keys(data), (name) => {
    spend(check, 1 + name.length / charactersPerStep);
    return problemOfProperty(name, data[name]);
  });

/** @param rest schema of the items after those with schemas of their own */
const checkItems = (first: readonly unknown[], rest: unknown, data: unknown, check: Check): Problem =>
  isList(data) &&
  firstOf(data.keys(), (index) =>
    under(index, problemOf(check, index < first.length ? first[index] : rest, data[index])),
  );

const checkAll = (schemas: readonly unknown[], data: unknown, check: Check): Problem =>
  firstOf(schemas, (schema) => problemOf(check, schema, data));

const annotations =
  '$schema $comment title description default examples deprecated readOnly writeOnly format pattern contentEncoding contentMediaType discriminator';

const annotation = rule(() => true);

/** The form of each keyword's value, and what it says about data. */
const rules = new Map<string, ReturnType<typeof rule>>(
  Object.entries({
    ...Object.fromEntries(annotations.split(' ').map((name) => [name, annotation])),
    $defs: rule(isObject),
    definitions: rule(isObject),
    type: rule(isType, (type: unknown, data) => {
      const names = listOf(type);
      return !names.some((name) => types.get(name)?.(data)) && `must be ${names.join(' or ')}`;
    }),
    enum: rule(isFilledList, checkEnum),
    const: rule(annotation.isWellFormed, (value: unknown, data, check) => {
      return textOf(check, value) !== textOf(check, data) && 'must be the allowed value';
    }),
    minimum: rule(isFiniteNumber, limit(numberOf, isLess, 'be at least')),
    maximum: rule(isFiniteNumber, limit(numberOf, isMore, 'be at most')),
    exclusiveMinimum: rule(
      isFiniteNumber,
      limit(numberOf, (size, least) => size <= least, 'be more than'),
    ),
    exclusiveMaximum: rule(
      isFiniteNumber,
      limit(numberOf, (size, most) => size >= most, 'be less than'),
    ),
    multipleOf: rule(isPositive, limit(numberOf, isNoMultiple, 'be a multiple of')),
    minLength: rule(isCount, limit(countCodePoints, isLess, 'have at least', ' characters')),
    maxLength: rule(isCount, limit(countCodePoints, isMore, 'have at most', ' characters')),
    minItems: rule(isCount, limit(countItems, isLess, 'have at least', ' items')),
    maxItems: rule(isCount, limit(countItems, isMore, 'have at most', ' items')),
    minProperties: rule(isCount, limit(countProperties, isLess, 'have at least', ' properties')),
    maxProperties: rule(isCount, limit(countProperties, isMore, 'have at most', ' properties')),
    required: rule(isTextList, checkRequired),
    properties: rule(isObject, (properties: JsonSchema, data, check) =>
      eachProperty(data, check, (name, value) =>
        under(escapeStep(name), problemOf(check, own(properties, name), value)),
      ),
    ),
    additionalProperties: rule(isSchema, (rest: unknown, data, check, { properties }) =>
      eachProperty(data, check, (name, value) => {
        if (own(properties, name) !== undefined) return undefined;
        return rest === false
          ? 'must not have further properties'
          : under('*', problemOf(check, rest, value));
      }),
    ),
    propertyNames: rule(isSchema, (names: unknown, data, check) =>
      eachProperty(data, check, (name) => {
        const problem = problemOf(check, names, name);
        return problem && `has a property whose name ${problem}`;
      }),
    ),
    prefixItems: rule(isSchemaList, (first: unknown[], data, check) => checkItems(first, true, data, check)),
    // A list is draft 7's form of prefixItems.
    items: rule(isSchemaOrList, (items: unknown, data, check, { prefixItems, additionalItems }) =>
      isList(items)
        ? checkItems(items, additionalItems, data, check)
        : checkItems(listOf(prefixItems).map(annotation.isWellFormed), items, data, check),
    ),
    additionalItems: rule(isSchema),
    uniqueItems: rule(isBoolean, (isUnique: boolean, data, check) => {
      const texts = isUnique && isList(data) && data.map((item) => textOf(check, item));
      return texts && new Set(texts).size < texts.length && 'must not have equal items';
    }),
    $ref: rule(isText, (reference: string, data, check) => {
      spendOn(check, reference);
      return problemOf(check, targetOf(check.root, reference), data);
    }),
    allOf: rule(isSchemaList, checkAll),
    anyOf: rule(isSchemaList, (schemas: unknown[], data, check) => {
      const fits = schemas.some((schema) => !problemOf(check, schema, data));
      return !fits && 'must match at least one of the alternatives';
    }),
    oneOf: rule(isSchemaList, (schemas: unknown[], data, check) => {
      const fitting = schemas.filter((schema) => !problemOf(check, schema, data));
      return fitting.length !== 1 && 'must match exactly one of the alternatives';
    }),
    not: rule(isSchema, (schema: unknown, data, check) => {
      return !problemOf(check, schema, data) && 'must not match the excluded schema';
    }),
  }),
);

function checkEnum(values: readonly unknown[], data: unknown, check: Check): Problem {
  const texts = check.texts.get(values) ?? new Set(values.map((value) => textOf(check, value)));
  check.texts.set(values, texts);
  return !texts.has(textOf(check, data)) && 'must be one of the allowed values';
}

function checkRequired(names: readonly string[], data: unknown, check: Check): Problem {
  spend(check, names.length);
  const missing = isObject(data) ? names.find((name) => !Object.hasOwn(data, name)) : undefined;
  return missing !== undefined && `must have the property ${missing}`;
}

function problemOf(check: Check, schema: unknown, data: unknown): Problem {
  spend(check, 1);
  if (!isObject(schema)) return schema === false && 'is not allowed';
  check.level += 1;
  bound(check.level, callLevels, 'is nested too deeply');
  const problem = firstOf(Object.keys(schema), (keyword) =>
    rules.get(keyword)?.check?.(schema[keyword] as never, data, check, schema),
  );
  check.level -= 1;
  return problem;
}

const startCheck = (root: JsonSchema, steps: number): Check => ({ root, steps, level: 0, texts: new Map() });

/**
 * Undefined if the data fits the schema, which `problemOfSchema` has accepted. Otherwise a sentence such as
 * `/age must be integer`, or `must be object` for the whole. Names that are only in the data are `*`.
 */
export function problemOfData(schema: JsonSchema, data: unknown): string | undefined {
  return unlessStopped(
    () => problemOf(startCheck(schema, freeSteps + charactersOf(data)), schema, data) || undefined,
    (message) => message,
  );
}

/** About how many characters the data has as JSON. */
function charactersOf(data: unknown, level = 1): number {
  if (!isObject(data) && !isList(data)) return String(data).length + 2;
  bound(level, dataLevels, 'is nested too deeply');
  return Object.entries(data).reduce(
    (sum, [name, value]) => sum + name.length + charactersOf(value, level + 1),
    2,
  );
}

/** The schemas directly in a schema, each with its pointer from there. */
const childrenOf = (schema: JsonSchema): (readonly [pointer: string, schema: unknown])[] =>
  Object.entries(schema).flatMap(([keyword, value]) => {
    const form = rules.get(keyword)?.isWellFormed;
    if (!schemaForms.includes(form)) return [];
    return form === isObject || isList(value)
      ? Object.entries(value ?? {}).map(([name, child]) => [`${keyword}/${escapeStep(name)}`, child] as const)
      : [[keyword, value] as const];
  });

function targetOf(root: JsonSchema, reference: string): unknown {
  if (reference === '#') return root;
  const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]*)$/.exec(reference) ?? [];
  return own(own(root, keyword), name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Undefined if the schema is accepted. */
export function problemOfSchema(schema: JsonSchema): SchemaProblem | undefined {
  return unlessStopped(
    () => {
      charactersOf(schema);
      const { length } = new TextEncoder().encode(JSON.stringify(schema));
      bound(length, schemaBytes, `has more than ${schemaBytes} bytes`);
      return problemOfNode({ root: schema, nodes: 0, open: new Map() }, schema, '#', 1);
    },
    (problem) => ({ place: '#', problem }),
  );
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
  bound(survey.nodes, schemaNodes, `has more than ${schemaNodes} schemas`);
  bound(level, schemaLevels, `has more than ${schemaLevels} levels`);
  if (!isObject(schema)) return isBoolean(schema) ? undefined : { place, problem: 'is malformed' };
  return (
    firstOf(Object.keys(schema), (keyword) => {
      const problem = problemOfKeyword(survey, schema, keyword);
      return problem ? { place: `${place}/${escapeStep(keyword)}`, problem } : undefined;
    }) ??
    firstOf(childrenOf(schema), ([pointer, child]) =>
      problemOfNode(survey, child, `${place}/${pointer}`, level + 1),
    )
  );
}

function problemOfKeyword(survey: Survey, schema: JsonSchema, keyword: string): Problem {
  const { root } = survey;
  if (keyword === '$id' && schema === root) return undefined;
  const rule = rules.get(keyword);
  if (!rule || (keyword === 'additionalItems' && !isList(schema.items))) return 'is not supported';
  const value = schema[keyword];
  if (!rule.isWellFormed(value)) return 'is malformed';
  if (keyword !== '$ref') return undefined;
  if (targetOf(root, String(value)) === undefined) return 'leads to no schema in $defs';
  return closesCycle(survey, schema) && 'leads back to itself';
}

function closesCycle(survey: Survey, schema: unknown): boolean {
  const { root, open } = survey;
  const known = open.get(schema);
  if (known !== undefined || !isObject(schema)) return known === true;
  open.set(schema, true);
  const { $ref, allOf, anyOf, oneOf, not } = schema;
  const isClosed = [$ref && targetOf(root, String($ref)), allOf, anyOf, oneOf, not]
    .flatMap(listOf)
    .some((child) => closesCycle(survey, child));
  open.set(schema, false);
  return isClosed;
}

/**
 * Whether OpenAI takes the schema as strict: every object closed (`additionalProperties: false`), every property
 * required, at every level. Strict schemas have neither `oneOf`, `allOf` and `not` nor values of any type.
 */
export function isStrict(schema: JsonSchema): boolean {
  const { properties, required, additionalProperties, type, $ref, anyOf, oneOf, allOf, not } = schema;
  if ((type ?? $ref ?? anyOf) === undefined || (oneOf ?? allOf ?? not) !== undefined) return false;
  const isClosed =
    additionalProperties === false &&
    Object.keys(properties ?? {}).every((name) => listOf(required).includes(name));
  return (
    (isClosed || !(properties ?? listOf(type).includes('object'))) &&
    childrenOf(schema).every(([, child]) => child === false || (isObject(child) && isStrict(child)))
  );
}

/** The smallest instance that fits, for the demo model; undefined if none was found. */
export function smallestInstance(schema: JsonSchema): unknown {
  const check = startCheck(schema, searchSteps);
  return unlessStopped(
    () => firstDefined(Array(schemaLevels).keys(), (levels) => instanceOf(check, [schema], levels)),
    () => undefined,
  );
}

/** Of values that may be null, false, 0 or empty. */
const firstDefined = <Entry>(entries: Iterable<Entry>, find: (entry: Entry) => unknown): unknown =>
  firstOf(entries, (entry) => {
    const found = find(entry);
    return found === undefined ? undefined : [found];
  })?.[0];

/** Every choice of alternatives, as a list of all schemas that then apply to the same data. */
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

/** @param levels of arrays and objects that it may have */
const instanceOf = (check: Check, schemas: readonly unknown[], levels: number): unknown =>
  firstDefined(choicesOf(check, schemas), (nodes) =>
    candidatesOf(check, nodes, levels).find(
      (value) => value !== undefined && !checkAll(schemas, value, check),
    ),
  );

function candidatesOf(check: Check, nodes: readonly JsonSchema[], levels: number): unknown[] {
  const all = (keyword: string): unknown[] => nodes.flatMap((node) => listOf(node[keyword]));
  const most = (keyword: string): number => Math.max(0, ...all(keyword).map(Number));
  const build = (children: readonly (readonly unknown[])[]): unknown[] | undefined => {
    const values: unknown[] = [];
    for (const schemas of children) {
      const different = all('uniqueItems').length > 0 ? [{ not: { enum: [...values] } }] : [];
      const value = levels > 0 ? instanceOf(check, [...schemas, ...different], levels - 1) : undefined;
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values;
  };
  const length = most('minLength');
  const size = most('minItems');
  spend(check, length + size);
  const required = new Set(all('required').map(String));
  const named = all('properties').flatMap((properties) => Object.keys(properties as object));
  const names = [...new Set([...required, ...named, ...'abc'])].slice(
    0,
    Math.max(required.size, most('minProperties')),
  );
  const values = build(
    names.map((name) => nodes.map((node) => own(node.properties, name) ?? node.additionalProperties)),
  );
  const unit = most('multipleOf') || 1;
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].flatMap(all).map(Number);
  const middle = bounds.reduce((sum, value) => sum + value, 0) / bounds.length;
  return [
    ...all('enum'),
    ...nodes.map((node) => node.const),
    values && Object.fromEntries(names.map((name, index) => [name, values[index]])),
    build(
      Array.from({ length: size }, (_, index) =>
        nodes.map(
          ({ items, prefixItems, additionalItems }) =>
            listOf(isList(items) ? items : prefixItems)[index] ?? (isList(items) ? additionalItems : items),
        ),
      ),
    ),
    ...[null, false, true],
    ...[0, ...bounds, middle].flatMap((value) => [
      value,
      ...[0, 1, -1].map((more) => (Math.round(value / unit) + more) * unit),
    ]),
    ...['', 'x', 'xx'].map((more) => 'x'.repeat(length) + more),
  ];
}
