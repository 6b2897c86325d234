/** The interfaces that routes belong to, each with what its routes have in common. */
export const dialects = {
  service: { keyHeader: 'x-api-key', errors: 'envelope', isInOpenApiDocument: true },
  openai: { keyHeader: 'Authorization', errors: 'openai', isInOpenApiDocument: false },
} as const;

export type Dialect = keyof typeof dialects;

/** The interface of a route: by default the service's own. */
export const dialectOf = ({ dialect = 'service' }: { dialect?: Dialect }) => dialects[dialect];

/** The part of the path that all OpenAI-compatible routes start with. */
export const openAiPath = '/openai';

/**
 * The path and the alias of an OpenAI-compatible route. Many clients append `/v1` to the address that they are given.
 */
export const openAiPaths = (path: string) => ({
  path: openAiPath + path,
  aliases: [`${openAiPath}/v1${path}`],
});
