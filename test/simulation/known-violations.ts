import type { Invariant } from './checks.ts';

/**
 * What today's code violates: a seed that showed it, and the cause. A world that finds one of these does not fail. The new
 * core empties this list, one line at a time.
 */
export const knownViolations: Partial<Record<Invariant, string>> = {
  'a request has one chat and one turn':
    'Seed 350: the reply that an earlier attempt has stored is looked for before the chat lease is taken',
  'a request is paid once unless its process was disturbed':
    'Seeds 46, 392: a claim is written back with the lease that it had when it was claimed',
  'usage is at most the calls':
    'Seeds 42, 69: an attempt that could not end counts its calls, and the next attempt counts the stored reply again',
  'a task token is never replaced by an older one': 'Seeds 18, 66: a delayed dispatch writes its token last',
  'positions have no gaps':
    'Seeds 13, 15: a worker that has lost its request stores the turn, though the chat lease was released',
  'an interrupted reply is visible': 'Seeds 57, 145: as above, the turn is not counted',
  'a reply that a client got is stored':
    'Seed 152 of the world without five faults: a repeated request finds the turn of a batch at its position',
};
