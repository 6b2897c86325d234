import * as z from 'zod';

/** The response to the request of an erasure. */
export const erasedUser = z
  .object({ external_user_id: z.string(), status: z.string() })
  .meta({ id: 'ErasedUser' });

export type ErasedUserResource = z.infer<typeof erasedUser>;
