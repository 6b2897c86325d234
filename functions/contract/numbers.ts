import * as z from 'zod';

/** Integers of responses. Function bundles do not import them. */
export const resourceId = z.int().min(1);
export const count = z.int().min(0);
export const errorCode = z.int32().min(0);
