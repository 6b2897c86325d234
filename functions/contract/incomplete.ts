import * as z from 'zod';

/** Why a reply was cut short without a failure: an addition to the specification. */
export const incomplete = z.string().meta({
  description:
    'Why the reply was cut short without an error: `max_output_tokens` if it reached the token limit of its agent or the maximum length of a reply, `stopped` if a client has stopped it. New values may be added.',
  example: 'max_output_tokens',
});

/**
 * The response header with the value of `incomplete`, for a JSON response to a send. There `data` is a string, so the
 * body has no place for the field.
 */
export const incompleteHeader = 'x-reply-incomplete';
