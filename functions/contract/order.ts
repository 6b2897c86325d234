import * as z from 'zod';

export const orderBy = z.enum(['created_at', '-created_at', 'asc', 'desc']);
export type OrderBy = z.infer<typeof orderBy>;

/** `asc` equals `created_at`; `desc` equals `-created_at`. */
export const isAscending = (order: OrderBy): boolean => order === 'asc' || order === 'created_at';
