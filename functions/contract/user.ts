import * as z from 'zod';

/** The response to the request of an erasure. */
export const erasedUser = z
  .object({
    external_user_id: z.string(),
    status: z
      .literal('erasing')
      .meta({ description: 'The erasure has started. It ends within half an hour.' }),
  })
  .meta({ id: 'ErasedUser' });

export type ErasedUserResource = z.infer<typeof erasedUser>;
