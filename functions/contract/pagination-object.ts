import * as z from 'zod';
import { count } from './fields.ts';

/** Specification, section 2.2. */
export const pagination = z
  .object({
    limit: z.int().min(1),
    offset: count,
    total_records: count,
    total_pages: count,
    current_page: z.int().min(1),
    next_page: z.url().nullable(),
    prev_page: z.url().nullable(),
  })
  .meta({ id: 'Pagination' });

export type Pagination = z.infer<typeof pagination>;
