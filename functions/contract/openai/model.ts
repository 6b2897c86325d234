import * as z from 'zod';

/** A published agent as a model. `name` and `description` are additions. */
export const openAiModel = z.object({
  id: z.guid(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  name: z.string(),
  description: z.string(),
});

export type OpenAiModel = z.infer<typeof openAiModel>;
