/** What must hold in every world, by the name under which a failure is printed. Numbers are those of the design. */
export const invariants = {
  'a world ends': 'simulation',
  'an id is given once, and later ones are higher': 'lists 1',
  'created_at never falls with a rising id': 'lists 2',
  'lists and counts agree with the chats': 'lists 3, 4',
  'a count is never negative': 'lists 4',
  'entries of a list do not interleave': 'lists 5',
  'pages equal the sorted living ids': 'lists 6',
  'a key creates one chat or batch': 'lists 7',
  'open batches are those that are not final': 'lists 8',
  'the next request never falls': 'batches 9',
  'a request is in the take of its slot': 'batches 10',
  'only the newest owner of a slot changes its requests': 'batches 11',
  'an epoch has one owner': 'batches 11',
  'only its owner changes a slot': 'batches 11',
  'a write that the SDK repeats counts as done': 'core 2.3',
  'a final batch has released its chats': 'batches 15',
  'a cancelled batch ends as such': 'batches 13',
  'nothing starts after a stop': 'batches 12',
  'a result never changes': 'batches 13',
  'counts never fall': 'batches 13',
  'completed and failed are counted from items': 'batches 14',
  'a request has one chat and one turn': 'batches 15',
  'a success is a turn of its request': 'batches 15',
  'requests of a history run in order': 'batches 16',
  'a request is paid once unless its process was disturbed': 'batches 17',
  'a silent slot has a worker again': 'batches 18',
  'every batch ends': 'batches 19',
  'no batch waits for its expiry': 'batches 18',
  'slots are within the share': 'batches 20',
  'a batch without work ends at once': 'batches 19',
  'a webhook is delivered once': 'batches 21',
  'usage is at most the calls': 'batches 22',
  'usage is at least the calls of processes that lived': 'batches 22',
  'a request stores its turn only as long as it runs': 'batches 15',
  'a task token is never replaced by an older one': 'core 2.2',
  'positions have no gaps': 'turns 23',
  'a stored turn is counted': 'turns 23',
  'a message never changes': 'turns 23',
  'a reply belongs to its message': 'turns 23',
  'a lease owns its chat alone': 'turns 24',
  'a purged chat leaves nothing': 'erasure 28',
  'a stored message has its files': 'erasure 27',
  'a file is gone with its last chat': 'erasure 28',
  'an erased person has no entries': 'erasure 26',
  'a used chat is not deleted as unused': 'retention',
  'an unused chat goes within a day': 'retention',
  'a reply is paid once unless its process was disturbed': 'sends',
  'an erased person is gone': 'erasure 26',
  'what a person does after an erasure stays': 'erasure 29',
  'a message is stored once': 'sends',
  'a reply that a client got is stored': 'sends',
  'a rename is never lost': 'sends',
  'a chat is free within its lease': 'sends',
  'an interrupted reply is visible': 'sends',
} as const;

export type Invariant = keyof typeof invariants;

/** Arrives with the code that it is about. */
export const invariantsOfNewCode = [
  'turns 25: a failed attempt leaves nothing (today, the closing of a turn may)',
  'erasure 30: runs that end',
];

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
