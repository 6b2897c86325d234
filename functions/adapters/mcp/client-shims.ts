/**
 * In the functions' bundles, this file replaces two modules that the MCP client imports: its shims, whose validator
 * compiles code from the schemas of others, and `jose`, which only OAuth in the client would need.
 */
/** @public The client imports it. */
export const CORS_IS_POSSIBLE = false;

export class DefaultJsonSchemaValidator {
  getValidator = () => (data: unknown) => ({ valid: true, data, errorMessage: undefined });
}
