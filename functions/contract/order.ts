import * as z from 'zod';

export const orderBy = z.enum(['created_at', '-created_at', 'asc', 'desc']);
export type OrderBy = z.infer<typeof orderBy>;

/** `asc` and `created_at` say the same, as do `desc` and `-created_at`. */
export const isAscending = (order: OrderBy): boolean => order === 'asc' || order === 'created_at';
