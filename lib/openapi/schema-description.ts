/**
 * The description of a schema, as `schema`, and of each property that is not a reference to another schema. They are here and not in
 * the contract, so that function bundles do not contain them. An envelope has its description in the table of routes.
 */
export type SchemaDescription = Readonly<Record<string, string>>;
