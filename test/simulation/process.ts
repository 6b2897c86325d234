import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  TransactionCanceledException,
  TransactionConflictException,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import { dynamoTable, type Table } from '#adapters/dynamo/table/table.ts';
import type { Cancel, Clock } from '#domain/platform/services.ts';
import type { WireItem } from '#support/memory-table/attribute-values.ts';
import type { MemoryTable, TableCommand } from '#support/memory-table/memory-table.ts';
import type { Checks } from './checks.ts';
import { type CallType, type Coverage, cover, type FaultKind, type FaultPlan } from './faults.ts';
import type { Timeline } from './timeline.ts';

/** What all processes of a world share. */
export interface Surroundings {
  timeline: Timeline;
  table: MemoryTable;
  faults: FaultPlan;
  coverage: Coverage;
  checks: Checks;
  /** The process that makes the call of the table which is under way. */
  caller?: Process;
  /** When the last fault has, or will have, no effect any more but by its repair. */
  disturbedUntil: number;
  /** Adds a line to the history of the world. */
  note(line: string): void;
}

const reads = new Set(['GetItemCommand', 'QueryCommand', 'BatchGetItemCommand', 'ScanCommand']);

interface Method {
  name: string;
  /** The SDK has repeated a write that was done, and nobody has changed the item in between. */
  hasRepeated: boolean;
}

/** The method of a port that makes the calls of this moment. */
const currentMethod = new AsyncLocalStorage<Method>();

export class CallFailed extends Error {
  override readonly name = 'CallFailed';
}

/** Faults after which a process still knows what it has done: they excuse no second payment. */
const harmless: readonly (readonly [call: string, fault: FaultKind])[] = (
  ['fails before', 'repeated', 'request late', 'response late', 'conflict', 'throttled'] as const
).flatMap((fault) => [
  ['batches.take', fault],
  ['batches.claim', fault],
]);

const never = (): Promise<never> => new Promise(() => undefined);

/** A process of the service: it has a clock of its own, and may die or freeze at any call. */
export class Process {
  readonly name: string;
  readonly world: Surroundings;
  readonly clock: Clock;
  readonly table: Table;
  isDead = false;
  /** When it has sent the call of the table which is under way. */
  sentAt = 0;
  /** Calls that failed or were repeated, with their faults. */
  readonly faultyCalls: string[] = [];
  /** When it died, froze or was hit by another fault. */
  readonly disturbedAt: number[] = [];
  /** Resolves when the process dies. */
  readonly death: Promise<void>;
  #onDeath: () => void = () => undefined;
  #frozenUntil = 0;
  readonly #skew: number;

  constructor(world: Surroundings, name: string) {
    this.world = world;
    this.name = name;
    // Two clocks differ by at most 2 s.
    this.#skew = world.timeline.between(-1000, 1000);
    this.death = new Promise((resolve) => {
      this.#onDeath = resolve;
    });
    this.clock = this.#makeClock();
    const client = { send: (command: TableCommand) => this.#execute(command) };
    this.table = dynamoTable(client as unknown as DynamoDBClient, 'table', (milliseconds) =>
      this.sleep(world.timeline.random() * milliseconds),
    );
  }

  die(reason: string): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#disturb(`dies ${reason}`);
    this.#onDeath();
  }

  get isFrozen(): boolean {
    return this.world.timeline.now < this.#frozenUntil;
  }

  /** Whether something happened to the process in this time that may have hidden from it what it or others did. */
  wasDisturbed(from: number, to: number): boolean {
    return this.disturbedAt.some((at) => at >= from && at <= to);
  }

  /** Waits in the time of the process: a dead one never goes on, and a frozen one once it has thawed. */
  async sleep(milliseconds: number): Promise<void> {
    await this.world.timeline.sleep(milliseconds);
    await this.#untilAwake();
  }

  /** A call to something outside of the process. */
  async call<Result>(
    name: string,
    type: CallType,
    apply: (fault?: FaultKind) => Result | Promise<Result>,
    errors: (kind: FailureKind) => Error = failureOf,
  ): Promise<Result> {
    const { timeline, faults, coverage } = this.world;
    if (this.isDead) return never();
    const fault = faults.next(name, type);
    cover(coverage, name, { type, faults: fault === undefined ? {} : { [fault]: 1 } });
    if (fault !== undefined) {
      this.faultyCalls.push(`${name}: ${fault}`);
      const isHarmless = harmless.some(([call, ofCall]) => call === name && ofCall === fault);
      this.#disturb(`${name}: ${fault}`, isHarmless);
    }
    await this.sleep(timeline.between(2, 8));
    const before = fault && (await this.#before(fault, name, errors));
    if (before !== undefined) throw before;
    const outcome = await outcomeOf(() => apply(fault));
    if (fault === undefined) {
      if (this.isFrozen || this.isDead) await this.#untilAwake();
      return outputOf(outcome);
    }
    return outputOf(await this.#after(fault, name, outcome, apply, errors));
  }

  /** @returns the error of a call that is not made */
  async #before(
    fault: FaultKind,
    name: string,
    errors: (kind: FailureKind) => Error,
  ): Promise<Error | undefined> {
    const { timeline } = this.world;
    if (fault === 'dies before') this.die(`before ${name}`);
    if (fault === 'freezes before') this.freeze();
    if (fault === 'request late') await timeline.sleep(timeline.between(1000, 40_000));
    // The request is on its way: it arrives although its process is dead or frozen.
    else await this.#untilAwake();
    if (fault === 'fails before') return errors('failed');
    if (fault === 'conflict') return errors('conflict');
    if (fault === 'throttled') {
      await this.sleep(timeline.between(500, 3000));
      return errors('throttled');
    }
    return undefined;
  }

  async #after<Result>(
    fault: FaultKind,
    name: string,
    outcome: Outcome<Result>,
    apply: () => Result | Promise<Result>,
    errors: (kind: FailureKind) => Error,
  ): Promise<Outcome<Result>> {
    const { timeline } = this.world;
    if (fault === 'dies after') this.die(`after ${name}`);
    if (fault === 'freezes after') this.freeze();
    if (fault === 'response late') await timeline.sleep(timeline.between(1000, 40_000));
    await this.#untilAwake();
    if (fault === 'fails after') return { error: errors('failed') };
    if (fault !== 'repeated') return outcome;
    // The response was lost, and the SDK repeats the request.
    await this.sleep(timeline.between(100, 3000));
    const again = await outcomeOf(apply);
    await this.#untilAwake();
    return again;
  }

  freeze(): void {
    const { timeline } = this.world;
    const seconds = Math.round(timeline.between(5, 120));
    this.#frozenUntil = Math.max(this.#frozenUntil, timeline.now + seconds * 1000);
    this.#disturb(`freezes for ${seconds} s`);
    this.disturbedAt.push(this.#frozenUntil);
    this.world.disturbedUntil = Math.max(this.world.disturbedUntil, this.#frozenUntil);
  }

  async #untilAwake(): Promise<void> {
    if (this.isDead) return never();
    while (this.isFrozen) {
      await this.world.timeline.sleep(this.#frozenUntil - this.world.timeline.now);
      if (this.isDead) return never();
    }
  }

  #disturb(what: string, isHarmless = false): void {
    const { timeline } = this.world;
    if (!isHarmless) this.disturbedAt.push(timeline.now);
    const effect = what.endsWith(' late') ? 41_000 : 4000;
    this.world.disturbedUntil = Math.max(this.world.disturbedUntil, timeline.now + effect);
    this.world.note(`${this.name} ${what}`);
  }

  /** A command to the table. Its name is the method of the port that makes it. */
  #execute(command: TableCommand): Promise<object> {
    const operation = command.constructor.name;
    const method = currentMethod.getStore();
    const name = method?.name ?? operation;
    const errors = (kind: FailureKind) => tableError(kind, command);
    const type = reads.has(operation) ? 'read' : 'write';
    const sentAt = this.world.timeline.now;
    let written: WireItem | undefined;
    const apply = () => {
      this.world.caller = this;
      this.sentAt = sentAt;
      const { table } = this.world;
      const { Item, Key } = command.input as Partial<Record<string, WireItem>>;
      const { pk, sk } = Item ?? Key ?? {};
      const stored = () => table.find({ pk: pk?.S ?? '', sk: sk?.S ?? '' });
      if (method !== undefined && written !== undefined && written === stored()) method.hasRepeated = true;
      const output = table.execute(command);
      if (type === 'write') written = stored();
      return output;
    };
    return this.call(name, type, apply, errors);
  }

  #makeClock(): Clock {
    const { timeline } = this.world;
    const after = (milliseconds: number, call: () => void) => {
      let isCancelled = false;
      const fire = (): void => {
        if (isCancelled || this.isDead) return;
        if (this.isFrozen) timeline.at(this.#frozenUntil, fire);
        else call();
      };
      timeline.at(timeline.now + milliseconds, fire);
      return () => {
        isCancelled = true;
      };
    };
    return {
      now: () => new Date(timeline.now + this.#skew),
      after,
      every(milliseconds, call) {
        let cancel: Cancel | undefined;
        const again = (): void => {
          cancel = after(milliseconds, () => {
            again();
            call();
          });
        };
        again();
        return () => cancel?.();
      },
    };
  }
}

type FailureKind = 'conflict' | 'throttled' | 'failed';

type Outcome<Result> = { value: Result } | { error: unknown };

async function outcomeOf<Result>(apply: () => Result | Promise<Result>): Promise<Outcome<Result>> {
  try {
    return { value: await apply() };
  } catch (error) {
    return { error };
  }
}

function outputOf<Result>(outcome: Outcome<Result>): Result {
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}

const failureOf = (kind: string): Error => new CallFailed(`The call ${kind}`);

const $metadata = {};

function tableError(kind: FailureKind, command: TableCommand): Error {
  if (kind === 'failed') return new InternalServerError({ message: 'Internal server error', $metadata });
  const { TransactItems = [] } = command.input as Partial<TransactWriteItemsCommandInput>;
  const { name } = command.constructor;
  if (name === 'TransactWriteItemsCommand')
    return new TransactionCanceledException({
      message: 'Transaction cancelled',
      $metadata,
      CancellationReasons: TransactItems.map((_, index) => ({
        Code: index > 0 ? 'None' : kind === 'conflict' ? 'TransactionConflict' : 'ThrottlingError',
      })),
    });
  return kind === 'conflict' && name !== 'BatchWriteItemCommand'
    ? new TransactionConflictException({ message: 'Transaction conflict', $metadata })
    : new ProvisionedThroughputExceededException({ message: 'Throttled', $metadata });
}

type LazyPorts<Makers> = {
  readonly [Port in keyof Makers]: Makers[Port] extends () => infer Made ? Made : never;
};

/** Ports that are made when they are first used. Their calls are known by the names of their methods. */
export function lazyPorts<Makers extends Record<string, () => object>>(
  { checks }: Surroundings,
  makers: Makers,
): LazyPorts<Makers> {
  const ports = {};
  for (const [port, make] of Object.entries(makers)) {
    let made: object | undefined;
    Object.defineProperty(ports, port, {
      enumerable: true,
      get() {
        made ??= namedPort(checks, port, make() as Record<string, unknown>);
        return made;
      },
    });
  }
  return ports as LazyPorts<Makers>;
}

/** Methods that return undefined or false if their write is not to be done. */
const conditional = new Set(
  ['acquire', 'pass', 'renew', 'replaceItem', 'retire', 'stop', 'take', 'topUp']
    .map((method) => `batches.${method}`)
    .concat('messages.put'),
);

const namedPort = (checks: Checks, port: string, methods: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(methods).map(([method, original]) => {
      if (typeof original !== 'function') return [method, original];
      const name = `${port}.${method}`;
      const call = (...input: unknown[]): unknown => {
        const current: Method = { name, hasRepeated: false };
        const result = currentMethod.run(current, () => original(...input));
        if (conditional.has(name))
          return (result as Promise<unknown>).then((value) => {
            if (current.hasRepeated)
              checks.that(
                'a write that the SDK repeats counts as done',
                value !== undefined && value !== false,
                () => name,
              );
            return value;
          });
        return isIterable(result) ? namedIterable(current, result) : result;
      };
      return [method, call];
    }),
  );

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

function namedIterable(method: Method, iterable: AsyncIterable<unknown>): AsyncIterable<unknown> {
  const iterator = iterable[Symbol.asyncIterator]();
  const named = {
    next: () => currentMethod.run(method, () => iterator.next()),
    return: async (value?: unknown) => (await iterator.return?.(value)) ?? { done: true as const, value },
    [Symbol.asyncIterator]: () => named,
  };
  return named as AsyncIterable<unknown>;
}
