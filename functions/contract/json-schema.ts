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

/** Ends a check without a result: neither `not` nor `anyOf` can make one of it. */
class StoppedCheck extends Error {}

function messageOf(error: unknown): string {
  if (error instanceof StoppedCheck) return error.message;
  throw error;
}

function bound(value: number, limit: number, message: string): void {
  if (value > limit) throw new StoppedCheck(message);
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
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isFilledList = (value: unknown): boolean => isList(value) && value.length > 0;
const isAnything = (): boolean => true;

// Forms of keywords with schemas.
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);
const isSchemaList = (value: unknown): boolean => isFilledList(value);
const isSchemaOrList = (value: unknown): boolean => isSchema(value) || isList(value);
const schemaForms: readonly unknown[] = [isObject, isSchema, isSchemaList, isSchemaOrList];

/** A list, the only entry of a list, or nothing. */
const listOf = (value: unknown): readonly unknown[] =>
  isList(value) ? value : value === undefined ? [] : [value];

/** Own properties only: `toString` is not in an empty object. */
const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

const types = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', isBoolean],
  ['integer', Number.isInteger],
  ['number', isNumber],
  ['string', isText],
  ['array', isList],
  ['object', isObject],
]);

/** Without repetitions, because every value is compared with each. */
const isType = (value: unknown): boolean =>
  isFilledList(listOf(value)) &&
  listOf(value).every((name, index, names) => types.has(name) && names.indexOf(name) === index);

type Problem = string | false | undefined;

function firstProblem<Entry, Found>(
  entries: Iterable<Entry>,
  problemOf: (entry: Entry) => Found | Problem,
): Found | undefined {
  for (const entry of entries) {
    const problem = problemOf(entry);
    if (problem) return problem as Found;
  }
  return undefined;
}

/** Adds a step to the path before a problem. */
const under = (step: string | number, problem: Problem): Problem =>
  problem && `/${step}${problem.startsWith('/') ? '' : ' '}${problem}`;

const escapeStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A text that equal values share, whatever the order of their properties. */
function textOf(check: Check, value: unknown): string {
  spend(check, 1);
  if (isList(value)) return `[${value.map((item) => textOf(check, item))}]`;
  if (isObject(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => textOf(check, name) + textOf(check, value[name]))}}`;
  }
  if (!isText(value)) return String(value);
  spendOn(check, value);
  return JSON.stringify(value);
}

/** @param value of the keyword, in its form */
type CheckKeyword = (value: never, data: unknown, check: Check, schema: JsonSchema) => Problem;

/** @param sizeOf NaN for data of another type, which no limit excludes */
const limit =
  (
    sizeOf: (data: unknown, check: Check) => number,
    isWrong: (size: number, limit: number) => boolean,
    start: string,
    unit = '',
  ): CheckKeyword =>
  (value: number, data, check) =>
    isWrong(sizeOf(data, check), value) && `must ${start} ${value}${unit}`;

const isLess = (size: number, least: number): boolean => size < least;
const isMore = (size: number, most: number): boolean => size > most;
const numberOf = (data: unknown): number => (isNumber(data) ? data : Number.NaN);

/** Of floats as Python's jsonschema: the quotient as a float decides, unless it is too large for one. */
function isNoMultiple(value: number, unit: number): boolean {
  const quotient = value / unit;
  const rest = Number.isInteger(unit) || !Number.isFinite(quotient) ? value % unit : quotient % 1;
  return rest !== 0 && !Number.isNaN(value);
}

function codePointsOf(data: unknown, check: Check): number {
  if (!isText(data)) return Number.NaN;
  spendOn(check, data);
  return data.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ' ').length;
}

function propertiesOf(data: unknown, check: Check): readonly string[] {
  const names = isObject(data) ? Object.keys(data) : [];
  spend(check, names.length);
  return names;
}

/** @param schemaOf undefined for items that may be anything */
const checkItems = (data: unknown, check: Check, schemaOf: (index: number) => unknown): Problem =>
  isList(data) &&
  firstProblem(data.keys(), (index) => under(index, problemOf(check, schemaOf(index), data[index])));

const checkAll = (schemas: readonly unknown[], data: unknown, check: Check): Problem =>
  firstProblem(schemas, (schema) => problemOf(check, schema, data));

const countFitting = (schemas: readonly unknown[], data: unknown, check: Check): number =>
  schemas.filter((schema) => !problemOf(check, schema, data)).length;

/** Keywords, the form of their values, and what they say about data. */
const keywordRules: readonly (readonly [
  keyword: string,
  isWellFormed: (value: unknown) => boolean,
  check?: CheckKeyword,
])[] = [
  [
    'type',
    isType,
    (type: unknown, data) =>
      !listOf(type).some((name) => types.get(name)?.(data)) && `must be ${listOf(type).join(' or ')}`,
  ],
  [
    'enum',
    isFilledList,
    (values: unknown[], data, check) => {
      const texts = check.texts.get(values) ?? new Set(values.map((value) => textOf(check, value)));
      check.texts.set(values, texts);
      return !texts.has(textOf(check, data)) && 'must be one of the allowed values';
    },
  ],
  [
    'const',
    isAnything,
    (value: unknown, data, check) =>
      textOf(check, value) !== textOf(check, data) && 'must be the allowed value',
  ],
  ['minimum', Number.isFinite, limit(numberOf, isLess, 'be at least')],
  ['maximum', Number.isFinite, limit(numberOf, isMore, 'be at most')],
  ['exclusiveMinimum', Number.isFinite, limit(numberOf, (size, least) => size <= least, 'be more than')],
  ['exclusiveMaximum', Number.isFinite, limit(numberOf, (size, most) => size >= most, 'be less than')],
  [
    'multipleOf',
    (value) => Number.isFinite(value) && Number(value) > 0,
    limit(numberOf, isNoMultiple, 'be a multiple of'),
  ],
  ...(
    [
      ['Length', codePointsOf, ' characters'],
      ['Items', (data) => (isList(data) ? data.length : Number.NaN), ' items'],
      [
        'Properties',
        (data, check) => (isObject(data) ? propertiesOf(data, check).length : Number.NaN),
        ' properties',
      ],
    ] satisfies [string, (data: unknown, check: Check) => number, string][]
  ).flatMap(([kind, sizeOf, unit]) => [
    [`min${kind}`, isCount, limit(sizeOf, isLess, 'have at least', unit)] as const,
    [`max${kind}`, isCount, limit(sizeOf, isMore, 'have at most', unit)] as const,
  ]),
  [
    'required',
    (value) => isList(value) && value.every(isText),
    (names: string[], data, check) => {
      spend(check, names.length);
      return (
        isObject(data) &&
        firstProblem(names, (name) => !Object.hasOwn(data, name) && `must have the property ${name}`)
      );
    },
  ],
  [
    'properties',
    isObject,
    (properties: JsonSchema, data, check) =>
      firstProblem(propertiesOf(data, check), (name) => {
        spendOn(check, name);
        return under(escapeStep(name), problemOf(check, own(properties, name), own(data, name)));
      }),
  ],
  [
    'additionalProperties',
    isSchema,
    (child: unknown, data, check, { properties }) =>
      firstProblem(
        propertiesOf(data, check),
        (name) =>
          own(properties, name) === undefined &&
          (child === false
            ? 'must not have further properties'
            : under('*', problemOf(check, child, own(data, name)))),
      ),
  ],
  [
    'propertyNames',
    isSchema,
    (child: unknown, data, check) =>
      firstProblem(propertiesOf(data, check), (name) => {
        const problem = problemOf(check, child, name);
        return problem && `has a property whose name ${problem}`;
      }),
  ],
  [
    'prefixItems',
    isSchemaList,
    (first: unknown[], data, check) => checkItems(data, check, (index) => first[index]),
  ],
  [
    'items',
    isSchemaOrList,
    (items: unknown, data, check, { prefixItems }) =>
      checkItems(data, check, (index) =>
        isList(items) ? items[index] : index < listOf(prefixItems).length ? undefined : items,
      ),
  ],
  [
    'additionalItems',
    isSchema,
    (rest: unknown, data, check, { items }) =>
      checkItems(data, check, (index) => (index < listOf(items).length ? undefined : rest)),
  ],
  [
    'uniqueItems',
    isBoolean,
    (isUnique: boolean, data, check) =>
      isUnique &&
      isList(data) &&
      new Set(data.map((item) => textOf(check, item))).size < data.length &&
      'must not have equal items',
  ],
  [
    '$ref',
    isText,
    (reference: string, data, check) => {
      spendOn(check, reference);
      return problemOf(check, targetOf(check.root, reference), data);
    },
  ],
  ['allOf', isSchemaList, checkAll],
  [
    'anyOf',
    isSchemaList,
    (schemas: unknown[], data, check) =>
      !schemas.some((schema) => !problemOf(check, schema, data)) &&
      'must match at least one of the alternatives',
  ],
  [
    'oneOf',
    isSchemaList,
    (schemas: unknown[], data, check) =>
      countFitting(schemas, data, check) !== 1 && 'must match exactly one of the alternatives',
  ],
  [
    'not',
    isSchema,
    (child: unknown, data, check) => !problemOf(check, child, data) && 'must not match the excluded schema',
  ],
  ['$defs', isObject],
  ['definitions', isObject],
];

const rules = new Map(
  keywordRules.map(([keyword, isWellFormed, check]) => [keyword, { isWellFormed, check }] as const),
);
const annotations = new Set(
  '$schema $comment title description default examples deprecated readOnly writeOnly format pattern contentEncoding contentMediaType discriminator'.split(
    ' ',
  ),
);

function problemOf(check: Check, schema: unknown, data: unknown): Problem {
  spend(check, 1);
  if (!isObject(schema)) return schema === false && 'is not allowed';
  check.level += 1;
  bound(check.level, callLevels, 'is nested too deeply');
  const problem = firstProblem<string, string>(Object.keys(schema), (keyword) =>
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
  try {
    return problemOf(startCheck(schema, freeSteps + charactersOf(data)), schema, data) || undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** About how many characters the data has as JSON. */
function charactersOf(data: unknown, level = 1): number {
  if (!isObject(data) && !isList(data)) return String(data).length + 2;
  bound(level, dataLevels, 'is nested too deeply');
  return Object.entries(data).reduce(
    (sum, [name, value]) => sum + (isList(data) ? 0 : name.length) + charactersOf(value, level + 1),
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
  try {
    charactersOf(schema);
    const { length } = new TextEncoder().encode(JSON.stringify(schema));
    bound(length, schemaBytes, `has more than ${schemaBytes} bytes`);
    return problemOfNode({ root: schema, nodes: 0, open: new Map() }, schema, '#', 1);
  } catch (error) {
    return { place: '#', problem: messageOf(error) };
  }
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
    firstProblem<string, SchemaProblem>(Object.keys(schema), (keyword) => {
      const problem = problemOfKeyword(survey, schema, keyword);
      return problem && { place: `${place}/${escapeStep(keyword)}`, problem };
    }) ??
    firstProblem(childrenOf(schema), ([pointer, child]) =>
      problemOfNode(survey, child, `${place}/${pointer}`, level + 1),
    )
  );
}

function problemOfKeyword(survey: Survey, schema: JsonSchema, keyword: string): Problem {
  const { root } = survey;
  const { items, prefixItems, $ref } = schema;
  if (annotations.has(keyword) || (keyword === '$id' && schema === root)) return undefined;
  const rule = rules.get(keyword);
  if (!rule || (keyword === 'additionalItems' && !isList(items))) return 'is not supported';
  if (!rule.isWellFormed(schema[keyword]) || (keyword === 'items' && prefixItems && isList(items)))
    return 'is malformed';
  if (keyword !== '$ref') return undefined;
  if (targetOf(root, String($ref)) === undefined) return 'must be #, #/$defs/NAME or #/definitions/NAME';
  return closesCycle(survey, schema) && 'leads back without a property or an item in between';
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
 * required, at every level.
 */
export function isStrict(schema: JsonSchema): boolean {
  const { properties, required, additionalProperties, type } = schema;
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
  try {
    for (let levels = 0; levels < schemaLevels; levels += 1) {
      const found = instanceOf(check, [schema], levels);
      if (found !== undefined) return found;
    }
  } catch (error) {
    messageOf(error);
  }
  return undefined;
}

/** Every choice of alternatives, as a list of all schemas that then apply to the same data. */
function* choicesOf(check: Check, [schema, ...others]: readonly unknown[]): Generator<JsonSchema[]> {
  spend(check, 1);
  if (isObject(schema)) {
    const { $ref, allOf, anyOf = [true], oneOf = anyOf } = schema;
    const parts = [...($ref ? [targetOf(check.root, String($ref))] : []), ...listOf(allOf), ...others];
    for (const alternative of listOf(oneOf))
      for (const choice of choicesOf(check, [alternative, ...parts])) yield [schema, ...choice];
  } else if (others.length > 0) yield* choicesOf(check, others);
  else yield [];
}

/** @param levels of arrays and objects that it may have */
function instanceOf(check: Check, schemas: readonly unknown[], levels: number): unknown {
  for (const nodes of choicesOf(check, schemas)) {
    const found = candidatesOf(check, nodes, levels).find(
      (value) => value !== undefined && !checkAll(schemas, value, check),
    );
    if (found !== undefined) return found;
  }
  return undefined;
}

function candidatesOf(check: Check, nodes: readonly JsonSchema[], levels: number): unknown[] {
  const all = (keyword: string): unknown[] => nodes.flatMap((node) => listOf(node[keyword]));
  const most = (keyword: string): number => Math.max(0, ...all(keyword).map(Number));
  const build = <Name>(names: Name[], childrenFor: (node: JsonSchema, name: Name) => readonly unknown[]) => {
    const values: unknown[] = [];
    for (const name of names) {
      const different = most('uniqueItems') ? { not: { enum: [...values] } } : true;
      const children = [different, ...nodes.flatMap((node) => childrenFor(node, name))];
      const value = levels > 0 ? instanceOf(check, children, levels - 1) : undefined;
      if (value === undefined) return undefined;
      values.push(value);
    }
    return values;
  };
  spend(check, most('minLength') + most('minItems'));
  const required = new Set(all('required').map(String));
  const named = all('properties').flatMap((properties) => Object.keys(properties as object));
  const names = [...new Set([...required, ...named, ...'abc'])].slice(
    0,
    Math.max(required.size, most('minProperties')),
  );
  const values = build(names, ({ properties, additionalProperties }, name) =>
    listOf(own(properties, name) ?? additionalProperties),
  );
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'].flatMap(all).map(Number);
  const unit = most('multipleOf') || 1;
  const middle = bounds.reduce((sum, value) => sum + value, 0) / bounds.length;
  return [
    ...nodes.flatMap((node) => listOf(node.enum)),
    ...nodes.map((node) => node.const),
    values && Object.fromEntries(names.map((name, index) => [name, values[index]])),
    build([...Array(most('minItems')).keys()], ({ items, prefixItems, additionalItems }, index) => {
      const first = listOf(isList(items) ? items : prefixItems);
      return listOf(first[index] ?? (isList(items) ? additionalItems : items));
    }),
    null,
    false,
    true,
    ...[0, ...bounds, middle].flatMap((value) => [
      value,
      ...[0, 1, -1, 2, 3].map((more) => (Math.round(value / unit) + more) * unit),
    ]),
    ...[0, 1, 2, 3].map((more) => 'x'.repeat(most('minLength') + more)),
  ];
}
