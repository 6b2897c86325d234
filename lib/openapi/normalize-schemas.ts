type JsonObject = Record<string, unknown>;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const largestInt32 = 2 ** 31 - 1;

/** A reviver for `JSON.parse`. */
export function normalizeSchema(_key: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  // Later releases may add fields to responses, so clients must accept further fields.
  if (value.additionalProperties === false) delete value.additionalProperties;
  if (isObject(value.additionalProperties) && Object.keys(value.additionalProperties).length === 0)
    value.additionalProperties = true;
  delete value.propertyNames;
  if ('format' in value || value.type === 'integer') delete value.pattern;
  const schema = withoutAnyOf(value);
  // In an `anyOf`, the inner schema already has its format.
  if ([schema.type].flat().includes('integer') && schema.format === undefined) addIntegerFormat(schema);
  return schema;
}

function withoutAnyOf(value: JsonObject): JsonObject {
  const { anyOf, ...others } = value;
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return value;
  const [schema, nothing] = anyOf as [JsonObject, JsonObject];
  if (nothing.type !== 'null' || typeof schema.type !== 'string') return value;
  // An enum gets no null, because with null and a default the Go code of openapi-generator does not compile. In a
  // request, a missing field means the same as null.
  if ('enum' in schema) return { ...schema, ...others };
  return { ...schema, ...others, type: [schema.type, 'null'] };
}

/** Clients need to know whether 32 bits are enough. Where there is no limit, Zod writes that of safe integers. */
function addIntegerFormat(schema: JsonObject): void {
  const { minimum, maximum } = schema;
  if (minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (maximum === Number.MAX_SAFE_INTEGER || maximum === largestInt32) delete schema.maximum;
  schema.format = typeof maximum === 'number' && maximum <= largestInt32 ? 'int32' : 'int64';
}
