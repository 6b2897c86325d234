/** Limits of one reply, together with the agents that it calls and the title of its chat. */
export interface ReplyLimits {
  /** Calls of models, with retries. */
  modelCalls: number;
  toolUses: number;
  toolsAtOnce: number;
  /** UTF-8 bytes of the reply's text. The text of each called agent has its own limit of the same size. */
  replyBytes: number;
}

/** A tool that runs. */
export interface RunningTool {
  /** The tool has called an agent, and waits while that agent uses a tool: the two tools count as one. */
  isWaiting: boolean;
  end(): void;
}

/** A model call that only one agent can use, for its final text. */
export interface ReservedCall {
  take(): void;
  /** Returns the call to the budget if it was not used. */
  release(): void;
}

/**
 * Counts what one reply uses. Called agents share the budget, so agents that call agents do not multiply it. Each
 * running agent has one model call reserved for its final text, so at the limit all of them still end with a text.
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

  /** Beyond the first: the rate limit of a request counts that one when it accepts the request. */
  get furtherModelCalls(): number {
    return Math.max(0, this.modelCalls - 1);
  }

  /** False if only reserved calls are left. */
  takeModelCall(): boolean {
    if (this.modelCalls + this.reservedCalls >= this.limits.modelCalls) return false;
    this.modelCalls += 1;
    return true;
  }

  /** Undefined if only reserved calls are left. */
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
   * @param caller the running tool that called the agent of this tool; undefined for the agent of the chat
   * @returns the limit that was reached, if the tool may not start
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
