/**
 * The description of a schema, and of each property that is not a reference to another schema. They are here and not in
 * the contract, so that function bundles do not contain them.
 */
export interface SchemaDescription {
  schema: string;
  properties: Readonly<Record<string, string>>;
}
