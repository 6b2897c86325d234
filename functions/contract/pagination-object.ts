import * as z from 'zod';

/** Specification, section 2.2. */
export const pagination = z
  .object({
    limit: z.int(),
    offset: z.int(),
    total_records: z.int(),
    total_pages: z.int(),
    current_page: z.int(),
    next_page: z.url().nullable(),
    prev_page: z.url().nullable(),
  })
  .meta({ id: 'Pagination' });

export type Pagination = z.infer<typeof pagination>;
