import * as z from 'zod';

/** Why a reply that is no failure did not end by itself: an addition to the specification. */
export const incomplete = z.string().meta({
  description:
    'Why the reply did not end by itself, although nothing failed: `max_output_tokens` when it reached the token limit of its agent or the greatest length of a reply. More values may come.',
  example: 'max_output_tokens',
});

/** The same on the JSON answer to a send, whose `data` is a string. */
export const incompleteHeader = 'x-reply-incomplete';
