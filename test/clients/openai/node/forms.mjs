import * as z from 'zod';

export const Person = z.object({ name: z.string(), age: z.int() });

/** What generators write for optional, nullable, listed and repeated values, and a schema that refers to itself. */
export const Family = z.object({
  names: z.array(z.string().min(1)).min(1),
  kind: z.enum(['small', 'large']),
  motto: z.string().nullable(),
  head: z.union([Person, z.null()]),
  get parts() {
    return z.array(Family);
  },
});
