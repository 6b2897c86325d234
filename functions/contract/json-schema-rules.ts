export type SchemaObject = Readonly<Record<string, unknown>>;

/** About two for each level of data, which may have 512: a reference and its target. */
const callLevels = 1050;

const charactersPerStep = 16;

/** Thrown, so that a keyword such as `not` does not take a stopped check for a schema that does not fit. */
export class StoppedCheck extends Error {}

export function bound(value: number, limit: number, message: string): void {
  if (value > limit) throw new StoppedCheck(message);
}

export interface Check {
  root: SchemaObject;
  steps: number;
  level: number;
  texts: Map<unknown, Set<string>>;
  names: Map<unknown, readonly string[]>;
}

export function spend(check: Check, steps: number): void {
  check.steps -= steps;
  bound(0, check.steps, 'took too many steps to check');
}

const spendOn = (check: Check, text: string): void => spend(check, text.length / charactersPerStep);

type Test = (value: unknown) => boolean;

export const isObject = (value: unknown): value is SchemaObject =>
  typeof value === 'object' && value !== null && !isList(value);
export const isBoolean = (value: unknown): boolean => typeof value === 'boolean';
const isNumber = (value: unknown): value is number => typeof value === 'number';
export const isText = (value: unknown): value is string => typeof value === 'string';
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const isPositive = (value: unknown): boolean => Number.isFinite(value) && Number(value) > 0;
const isTextList = (value: unknown): boolean => isList(value) && value.every(isText);
const isFilledList = (value: unknown): boolean => isList(value) && value.length > 0;

// `childrenOf` finds the keywords with schemas by the functions in `schemaForms`, so no other keyword may use them.
const isSchema = (value: unknown): boolean => isObject(value) || isBoolean(value);
const isSchemaList = (value: unknown): boolean => isFilledList(value);
const isSchemaOrList = (value: unknown): boolean => isSchema(value) || isList(value);
export const schemaForms: readonly unknown[] = [isObject, isSchema, isSchemaList, isSchemaOrList];

const types = new Map<unknown, (value: unknown) => boolean>([
  ['null', (value) => value === null],
  ['boolean', isBoolean],
  ['integer', Number.isInteger],
  ['number', isNumber],
  ['string', isText],
  ['array', isList],
  ['object', isObject],
]);

export const listOf = (value: unknown): readonly unknown[] =>
  isList(value) ? value : value === undefined ? [] : [value];

/** No type may be repeated, so data is compared with at most seven. */
const isType = (value: unknown): boolean =>
  isFilledList(listOf(value)) &&
  listOf(value).every((name, index, names) => types.has(name) && names.indexOf(name) === index);

/** Not what the object inherits, such as `toString`. */
export const own = (object: unknown, name: string): unknown =>
  isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

export type Problem = string | false | undefined;

export function firstOf<Entry, Found>(
  entries: Iterable<Entry>,
  find: (entry: Entry) => Found,
): Found | undefined {
  for (const entry of entries) {
    const found = find(entry);
    if (found) return found;
  }
  return undefined;
}

export const escapeStep = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** `a` and `/b must be integer` give `/a/b must be integer`. */
export const under = (step: string | number, problem: Problem): Problem =>
  problem && `/${step}${problem.startsWith('/') ? '' : ' '}${problem}`;

function namesOf(check: Check, data: SchemaObject): readonly string[] {
  const names = check.names.get(data) ?? Object.keys(data);
  check.names.set(data, names);
  return names;
}

/** `join` would copy the texts of inner values once more at each level. */
const joined = (texts: readonly string[]): string => texts.reduce((all, text) => `${all},${text}`, '');

/** Equal values have the same text, whatever the order of their properties. */
function textOf(check: Check, value: unknown): string {
  spend(check, 1);
  if (isList(value)) return `[${joined(value.map((item) => textOf(check, item)))}]`;
  if (isObject(value)) {
    const names = namesOf(check, value).toSorted();
    return `{${joined(names.map((name) => textOf(check, name) + textOf(check, value[name])))}}`;
  }
  if (!isText(value)) return String(value);
  spendOn(check, value);
  return JSON.stringify(value);
}

type CheckKeyword = (value: never, data: unknown, check: Check, schema: SchemaObject) => Problem;

const rule = (isWellFormed: Test, check?: CheckKeyword) => ({ isWellFormed, check });

/** False for data of another type, which the limit allows. */
type SizeOf = (data: unknown, check: Check) => number | false;
type IsWrong = (size: number, limit: number) => boolean;

const limit = (isWellFormed: Test, sizeOf: SizeOf, isWrong: IsWrong, start: string, unit = '') =>
  rule(isWellFormed, (value: number, data, check) => {
    const size = sizeOf(data, check);
    return size !== false && isWrong(size, value) && `must ${start} ${value}${unit}`;
  });

const isLess: IsWrong = (size, least) => size < least;
const isMore: IsWrong = (size, most) => size > most;
const numberOf: SizeOf = (data) => isNumber(data) && data;

/** Like Python's jsonschema. */
const isNoMultiple: IsWrong = (size, unit) =>
  (Number.isInteger(unit) || !Number.isFinite(size / unit) ? size % unit : (size / unit) % 1) !== 0;

const countCodePoints: SizeOf = (data, check) => {
  if (!isText(data)) return false;
  spendOn(check, data);
  return data.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ' ').length;
};

const countItems: SizeOf = (data) => isList(data) && data.length;

const countProperties: SizeOf = (data, check) => isObject(data) && namesOf(check, data).length;

const eachProperty = (
  data: unknown,
  check: Check,
  problemOfProperty: (name: string, value: unknown) => Problem,
) =>
  isObject(data) &&
  firstOf(namesOf(check, data), (name) => {
    spend(check, 1 + name.length / charactersPerStep);
    return problemOfProperty(name, data[name]);
  });

const checkItems = (data: unknown, check: Check, schemaAt: (index: number) => unknown): Problem =>
  isList(data) &&
  firstOf(data.keys(), (index) => under(index, problemOf(check, schemaAt(index), data[index])));

export const checkAll = (schemas: readonly unknown[], data: unknown, check: Check): Problem =>
  firstOf(schemas, (schema) => problemOf(check, schema, data));

const annotations =
  '$schema $comment title description default examples deprecated readOnly writeOnly format pattern contentEncoding contentMediaType discriminator';

const annotation = rule(() => true);

export const rules = new Map<string, ReturnType<typeof rule>>(
  Object.entries({
    ...Object.fromEntries(annotations.split(' ').map((name) => [name, annotation])),
    $defs: rule(isObject),
    definitions: rule(isObject),
    type: rule(isType, (type: unknown, data) => {
      const names = listOf(type);
      return !names.some((name) => types.get(name)?.(data)) && `must be ${names.join(' or ')}`;
    }),
    enum: rule(isFilledList, (values: unknown[], data, check) => {
      const texts = check.texts.get(values) ?? new Set(values.map((value) => textOf(check, value)));
      check.texts.set(values, texts);
      return !texts.has(textOf(check, data)) && 'must be one of the allowed values';
    }),
    const: rule(annotation.isWellFormed, (value: unknown, data, check) => {
      return textOf(check, value) !== textOf(check, data) && 'must be the allowed value';
    }),
    minimum: limit(Number.isFinite, numberOf, isLess, 'be at least'),
    maximum: limit(Number.isFinite, numberOf, isMore, 'be at most'),
    exclusiveMinimum: limit(Number.isFinite, numberOf, (size, least) => size <= least, 'be more than'),
    exclusiveMaximum: limit(Number.isFinite, numberOf, (size, most) => size >= most, 'be less than'),
    multipleOf: limit(isPositive, numberOf, isNoMultiple, 'be a multiple of'),
    minLength: limit(isCount, countCodePoints, isLess, 'have at least', ' characters'),
    maxLength: limit(isCount, countCodePoints, isMore, 'have at most', ' characters'),
    minItems: limit(isCount, countItems, isLess, 'have at least', ' items'),
    maxItems: limit(isCount, countItems, isMore, 'have at most', ' items'),
    minProperties: limit(isCount, countProperties, isLess, 'have at least', ' properties'),
    maxProperties: limit(isCount, countProperties, isMore, 'have at most', ' properties'),
    required: rule(
      isTextList,
      (names: string[], data, check) =>
        isObject(data) &&
        firstOf(names, (name) => {
          spend(check, 1 + name.length / charactersPerStep);
          return !Object.hasOwn(data, name) && `must have the property ${name}`;
        }),
    ),
    properties: rule(isObject, (properties: SchemaObject, data, check) =>
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
    prefixItems: rule(isSchemaList, (first: unknown[], data, check) =>
      checkItems(data, check, (index) => index >= first.length || first[index]),
    ),
    // A list as `items` is draft 7's form of `prefixItems`.
    items: rule(isSchemaOrList, (items: unknown, data, check, { prefixItems, additionalItems }) =>
      checkItems(data, check, (index) => {
        if (isList(items)) return index < items.length ? items[index] : additionalItems;
        return index < listOf(prefixItems).length || items;
      }),
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

export function problemOf(check: Check, schema: unknown, data: unknown): Problem {
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

export function targetOf(root: SchemaObject, reference: string): unknown {
  if (reference === '#') return root;
  const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]*)$/.exec(reference) ?? [];
  return own(own(root, keyword), name.replaceAll('~1', '/').replaceAll('~0', '~'));
}
