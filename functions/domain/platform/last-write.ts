/**
 * Milliseconds after a deletion from which nothing writes to what was deleted any more. A function that had read it before
 * may write for 900 s, Lambda's longest timeout; the rest is for differences of clocks, and for callers that the gateway
 * has authorized before.
 */
export const lastWriteAfter = 20 * 60_000;
