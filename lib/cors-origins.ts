import * as z from 'zod';

/** As browsers send it: in lower case, without the scheme's default port and without a trailing slash. */
const isOrigin = (text: string): boolean =>
  text === '*' ||
  (/^https?:\/\/[a-z0-9.:[\]-]+$/.test(text) && URL.canParse(text) && new URL(text).origin === text);

export const corsOrigins = z
  .array(
    z.string().refine(isOrigin, {
      error: 'must be * or an origin as browsers send it, such as https://app.example.com',
    }),
  )
  .refine((origins) => origins.length < 2 || !origins.includes('*'), {
    error: 'must be * alone, or origins',
  });

export const oneOriginOnly =
  'must be one origin at most when webFunctions is none: responses of the gateway itself cannot choose between several';
