/** What one reply may use, with the agents that it calls and the title of its chat. */
export interface ReplyLimits {
  /** Calls of models, also those that are made again. */
  modelCalls: number;
  toolUses: number;
  toolsAtOnce: number;
  /** Of its text, as UTF-8; a called agent's may have as many. */
  replyBytes: number;
}

/** A use of a tool that has not ended. */
export interface RunningTool {
  /** It has called an agent that waits for a tool of its own: the two count as one. */
  isWaiting: boolean;
  end(): void;
}

/** The call of a model that an agent ends with: nobody else can take it. */
export interface ReservedCall {
  take(): void;
  /** Gives it back when it was not taken. */
  release(): void;
}

/**
 * Counts what one reply uses: agents that it calls use the same budget, so that agents that call agents do not multiply
 * it. Every agent at work has one call reserved for its answer: at the limit all of them end with a text.
 */
export class ReplyBudget {
  readonly limits: ReplyLimits;
  private modelCalls = 0;
  private reservedCalls = 0;
  private toolUses = 0;
  private runningTools = 0;

  constructor(limits: ReplyLimits) {
    this.limits = limits;
  }

  /** False when all calls that are left are reserved. */
  takeModelCall(): boolean {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return false;
    this.modelCalls += 1;
    return true;
  }

  /** Undefined when all calls that are left are reserved. */
  reserveModelCall(): ReservedCall | undefined {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return undefined;
    this.reservedCalls += 1;
    let isReserved = true;
    const release = (): void => {
      if (isReserved) this.reservedCalls -= 1;
      isReserved = false;
    };
    return {
      release,
      take: () => {
        release();
        this.modelCalls += 1;
      },
    };
  }

  /**
   * @param caller the use of a tool that has called the agent whose tool this is
   * @returns the limit that is reached when it may not start
   */
  startTool(caller: RunningTool | undefined): RunningTool | 'toolUses' | 'toolsAtOnce' {
    if (this.toolUses >= this.limits.toolUses) return 'toolUses';
    const waiting = caller?.isWaiting === false ? caller : undefined;
    if (waiting === undefined && this.runningTools >= this.limits.toolsAtOnce) return 'toolsAtOnce';
    this.toolUses += 1;
    if (waiting === undefined) this.runningTools += 1;
    else waiting.isWaiting = true;
    return {
      isWaiting: false,
      end: () => {
        if (waiting === undefined) this.runningTools -= 1;
        else waiting.isWaiting = false;
      },
    };
  }
}
