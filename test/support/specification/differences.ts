import { notShown, resources, specified } from './specified.ts';

/**
 * A difference between the interface and the letter of the specification, or an addition: one row of the tables in the
 * docs.
 */
export interface Difference {
  where: string;
  /**
   * `added`, `may be null`, a keyword with its limit, or `rule` and `limit` for differences that only the text states.
   */
  difference: string;
  /** How OpenAPI describes it. */
  text: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}
type Schemas = Record<string, Schema>;
interface Described {
  $ref?: string;
  description?: string;
}
type Content = Record<string, { schema: Schema }>;
interface Operation extends Described {
  parameters?: { name: string; description?: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, Described & { headers?: Record<string, Described>; content?: Content }>;
}
export interface OpenApi {
  info: Described;
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: { schemas: Schemas; headers: Record<string, Described> };
}

/** A field, parameter, header or code. Its traits are its limits and whether it may be null. */
interface Named {
  where: string;
  name: string;
  traits: string[];
  text: string;
}

const namedBy = (where: string, name: string, text = '', traits: string[] = []): Named => ({
  where,
  name,
  text,
  traits,
});

const limitKeywords = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum'];

const isLimit = (text: string): boolean =>
  /\bat most\b|\d (bytes|characters|seconds|minutes|hours|days|[KM]i?B)\b/i.test(text);

/** A sentence that the tables of the docs have: a limit, an addition, or a status that the specification does not show. */
const isRule = (text: string): boolean => isLimit(text) || /\baddition\b|\bgets \d{3}\b/i.test(text);

/** All additions to the specification and differences from it in an OpenAPI document, in the document's order. */
export function differencesOf(published: OpenApi): Difference[] {
  const document = withoutParts(published);
  const operations = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      path.startsWith('/') ? `${method.toUpperCase()} ${path}` : path,
      operation,
    ]),
  );
  const named = [
    ...componentsOf(document),
    ...operations.flatMap(([where, operation]) => namedIn(where, operation, document)),
  ];
  // A field that the responses of many operations share is listed once.
  const unique = new Map(named.map((entry) => [`${entry.where} ${entry.name}`, entry]));
  return merged([
    ...sentencesOf(document.info).map((text) => ({
      where: 'every request',
      name: '',
      difference: 'rule',
      text,
    })),
    ...compared([...unique.values()]),
    ...operations.flatMap(([where, operation]) =>
      [operation, ...Object.values(operation.responses)]
        .flatMap(sentencesOf)
        .filter(isRule)
        .map((text) => ({ where, name: '', difference: 'rule', text })),
    ),
  ]);
}

/** The document with each reference to a schema replaced by the schema, unless it is a resource. */
function withoutParts(document: OpenApi): OpenApi {
  const inline = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(inline);
    const name = '$ref' in value ? String(value.$ref).split('/').at(-1) : undefined;
    const part = resources.includes(name ?? '') ? undefined : document.components.schemas[name ?? ''];
    return Object.fromEntries(
      Object.entries({ ...value, ...(part !== undefined && { ...part, $ref: undefined }) })
        .filter(([key]) => !['example', 'examples', 'mapping'].includes(key))
        .map(([key, child]) => [key, inline(child)]),
    );
  };
  return inline(document) as OpenApi;
}

const sentencesOf = ({ description = '' }: Described): string[] =>
  description.split(/(?<=\.)\s+/).map((sentence) => sentence.replace(/^- /, ''));

function componentsOf({ components }: OpenApi): Named[] {
  const schemas = Object.entries(components.schemas).flatMap(([where, schema]): Named[] => {
    if (notShown.includes(where) || !resources.includes(where)) return [];
    if (schema.properties) return fieldsOf(where, schema, components.schemas, { isResponse: true });
    if (schema.oneOf)
      return schema.oneOf.flatMap((event) =>
        fieldsOf(event.properties?.type?.const ?? '', event, components.schemas, { isResponse: true }),
      );
    throw new Error(`${where} has no properties`);
  });
  const headers = Object.entries(components.headers).map(([name, { description }]) =>
    namedBy('header', name, description),
  );
  return [...schemas, ...headers];
}

function namedIn(where: string, operation: Operation, { components: { schemas } }: OpenApi): Named[] {
  const parameters = (operation.parameters ?? []).map(({ name, description, schema }) =>
    namedBy(where, name, description, limitsOf(schema)),
  );
  const bodies = Object.entries(operation.requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
    fieldsOf(where, schema, schemas, {
      isRequest: type === 'application/json' && where.startsWith('POST '),
      isResponse: !where.includes(' '),
    }),
  );
  const responses = Object.entries(operation.responses).flatMap(([status, response]): Named[] => [
    ...[...(response.description ?? '').matchAll(/(\d{5}) (\w+)/g)].map(([, name = '', text]) =>
      namedBy(status, name, text),
    ),
    ...Object.entries(response.headers ?? {})
      .filter(([, header]) => header.$ref === undefined)
      .map(([name, { description }]) => namedBy(`${where} ${status}`, name, description)),
    ...Object.values(response.content ?? {}).flatMap(({ schema }) =>
      fieldsOf('envelope', schema, schemas, { isResponse: true }),
    ),
  ]);
  return [...parameters, ...bodies, ...responses];
}

/**
 * @param isRequest whether it is a JSON request body: one rule says that its optional fields may be null, so only the
 * exceptions are differences
 * @param isResponse whether it is of a response or a webhook: its smallest number does not limit clients
 */
function fieldsOf(
  where: string,
  schema: Schema,
  schemas: Schemas,
  { isRequest = false, isResponse = false, path = '' } = {},
): Named[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, field]) => {
    const name = path + key;
    const isOptional = isRequest && !schema.required?.includes(key);
    const traits = limitsOf(field).filter((trait) => !isResponse || !trait.startsWith('minimum'));
    if (isNullable(field, schemas) !== isOptional) traits.unshift(isOptional ? 'never null' : 'may be null');
    const inner = specifiedTraits(where).get(name)?.includes('…') === false ? alternativesOf(field) : [];
    return [
      { where, name, traits, text: descriptionOf(field) },
      ...inner.flatMap((alternative) => [
        ...fieldsOf(where, alternative, schemas, { isRequest, isResponse, path: `${name}.` }),
        ...fieldsOf(where, alternative.items ?? {}, schemas, { isRequest, isResponse, path: `${name}[].` }),
      ]),
    ];
  });
}

/** For a nullable schema, the description may be at the non-null alternative. */
const descriptionOf = (schema: Schema): string =>
  [schema, ...alternativesOf(schema)].find(({ description }) => description !== undefined)?.description ?? '';

const alternativesOf = (schema: Schema): Schema[] => schema.anyOf ?? [schema];

/** The schema's own limits, without those of schemas that it refers to. */
const limitsOf = (schema: Schema): string[] =>
  [schema, ...(schema.anyOf ?? [])].flatMap((alternative) =>
    Object.entries(alternative)
      .filter(([key, value]) => limitKeywords.includes(key) && Math.abs(value) !== Number.MAX_SAFE_INTEGER)
      .map(([key, value]) => `${key} ${value}`),
  );

const isNullable = (schema: Schema, schemas: Schemas): boolean =>
  alternativesOf(schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema).some(({ type }) =>
    [type].flat().includes('null'),
  );

/** Each name of the specification with its traits. */
const specifiedTraits = (where: string): Map<string, string[]> =>
  new Map(
    (specified[where] ?? '')
      .split(', ')
      .filter(Boolean)
      .map((entry) => [
        entry.split(' ', 1)[0] ?? '',
        entry.match(/ (null|…|\w+ \d+)/g)?.map((trait) => trait.trim().replace('null', 'may be null')) ?? [],
      ]),
  );

type Item = Difference & { name: string };

/** Names whose traits differ from the specification, and names that the document lacks. */
function compared(named: readonly Named[]): Item[] {
  const items = named.map(({ where, name, traits, text }) => {
    const wanted = specifiedTraits(where).get(name);
    const differences = [
      ...(wanted === undefined ? ['added'] : []),
      ...traits.filter((trait) => !wanted?.includes(trait)),
      // A field that may be null by the specification may also be never null.
      ...(wanted ?? [])
        .filter((trait) => / \d/.test(trait) && !traits.includes(trait))
        .map((trait) => `not ${trait}`),
    ];
    if (differences.length > 0) return { where, name, difference: differences.join(', '), text };
    const rules = sentencesOf({ description: text }).filter(isRule);
    const difference = rules.some(isLimit) ? 'limit' : 'rule';
    return { where, name, difference: rules.length > 0 ? difference : '', text: rules.join(' ') };
  });
  const names = new Set(named.map(({ where, name }) => `${where} ${name}`));
  const missing = Object.keys(specified).flatMap((where) =>
    [...specifiedTraits(where).keys()]
      .filter((name) => !names.has(`${where} ${name}`))
      .map((name) => ({ where, name, difference: 'missing', text: '' })),
  );
  return [...items.filter(({ difference }) => difference !== ''), ...missing];
}

/** Merges equal differences of several locations into one row that does not name the locations. */
function merged(items: readonly Item[]): Difference[] {
  return [
    ...Map.groupBy(items, ({ name, difference, text }) => JSON.stringify([name, difference, text])).values(),
  ].map(([first, ...others]) => {
    const { where, name, difference, text } = first as Item;
    const parts = [others.length === 0 || name === '' ? where : '', name];
    return { where: parts.filter((part) => part !== '' && part !== '.').join(' '), difference, text };
  });
}
