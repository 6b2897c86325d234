import * as z from 'zod';

/** Why a reply was cut short without a failure: an addition to the specification. */
export const incomplete = z.string();

/**
 * The response header with the value of `incomplete`, for a JSON response to a send. There `data` is a string, so the
 * body has no place for the field.
 */
export const incompleteHeader = 'x-reply-incomplete';
