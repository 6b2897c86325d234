import * as z from 'zod';

/** Why a reply that is no failure did not end by itself: an addition to the specification. */
export const incomplete = z.string().meta({
  description:
    'Why a reply that did not fail did not end by itself: `max_output_tokens` at the token limit of its agent or the greatest length of a reply. More values may come.',
  example: 'max_output_tokens',
});

/** The same on the JSON answer to a send, whose `data` is a string. */
export const incompleteHeader = 'x-reply-incomplete';
