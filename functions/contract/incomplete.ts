import * as z from 'zod';

/** Why a reply was cut short without a failure: an addition to the specification. */
export const incomplete = z.string();
