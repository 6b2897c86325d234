/** What must hold in every world. A failure is printed under the name. */
export const invariants = [
  'a world ends',
  'an id is given once, and later ones are higher',
  'created_at never falls with a rising id',
  'lists and counts agree with the chats',
  'a count is never negative',
  'entries of a list do not interleave',
  'pages equal the sorted living ids',
  'a key creates one chat or batch',
  'open batches are those that are not final',
  'the next request never falls',
  'a request is in the take of its slot',
  'only the newest owner of a slot changes its requests',
  'an epoch has one owner',
  'only its owner changes a slot',
  'a write that the SDK repeats counts as done',
  'a final batch has released its chats',
  'a cancelled batch ends as such',
  'nothing starts after a stop',
  'a result never changes',
  'a request fails for a reason',
  'results are as many as were counted before',
  'counts never fall',
  'completed and failed are counted from items',
  'a request has one chat and one turn',
  'a success is a turn of its request',
  'requests of a history run in order',
  'a request is paid once unless its process was disturbed',
  'a silent slot has a worker again',
  'every batch ends',
  'no batch waits for its expiry',
  'slots are within the share',
  'a batch without work ends at once',
  'a webhook is delivered once',
  'usage is at most the calls',
  'usage is at least the calls of processes that lived',
  'a request stores its turn only as long as it runs',
  'a task token is never replaced by an older one',
  'positions have no gaps',
  'a stored turn is counted',
  'a message never changes',
  'a reply belongs to its message',
  'a lease owns its chat alone',
  'a purged chat leaves nothing',
  'a stored message has its files',
  'a file is gone with its last chat',
  'an erased person has no entries',
  'a used chat is not deleted as unused',
  'an unused chat goes within a day',
  'a reply is paid once unless its process was disturbed',
  'an erased person is gone',
  'what a person does after an erasure stays',
  'a message is stored once',
  'a reply that a client got is stored',
  'a rename is never lost',
  'a chat is free within its lease',
  'an interrupted reply is visible',
] as const;

export type Invariant = (typeof invariants)[number];

export interface Violation {
  invariant: Invariant;
  detail: string;
}

/** Counts how often each invariant was checked, and collects what violates one. */
export class Checks {
  readonly counts = new Map<Invariant, number>();
  readonly violations: Violation[] = [];
  readonly #note: (line: string) => void;

  constructor(note: (line: string) => void) {
    this.#note = note;
  }

  that(invariant: Invariant, isTrue: boolean, detail: () => string): void {
    this.counts.set(invariant, (this.counts.get(invariant) ?? 0) + 1);
    if (isTrue) return;
    const text = detail();
    // One violation of a kind tells enough.
    if (this.violations.some((violation) => violation.invariant === invariant)) return;
    this.violations.push({ invariant, detail: text });
    this.#note(`VIOLATION: ${invariant}: ${text}`);
  }
}
