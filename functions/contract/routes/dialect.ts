export const dialects = {
  service: { keyHeader: 'x-api-key', errors: 'envelope', isInOpenApiDocument: true },
  openai: { keyHeader: 'Authorization', errors: 'openai', isInOpenApiDocument: false },
} as const;

export type Dialect = keyof typeof dialects;

export const dialectOf = ({ dialect = 'service' }: { dialect?: Dialect }) => dialects[dialect];

export const openAiPath = '/openai';

/** Many clients append `/v1` to the address that they are given. */
export const openAiPaths = (path: string) => ({
  dialect: 'openai' as const,
  path: openAiPath + path,
  aliases: [`${openAiPath}/v1${path}`],
});
