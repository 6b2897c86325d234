type Terminal = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;

export interface StartSteps {
  start(step: string): void;
  /** After it, others may print. */
  end(): void;
}

/**
 * Prints each step of a start with the seconds since its beginning. On a terminal they go on, so that a slow step does
 * not look dead.
 */
export function startSteps(terminal: Terminal = process.stdout): StartSteps {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    if (timer !== undefined) terminal.write('\n');
    clearInterval(timer);
    timer = undefined;
  };
  return {
    start(step) {
      end();
      const line = () => `[${((performance.now() - startedAt) / 1000).toFixed(1)} s] ${step}`;
      if (!terminal.isTTY) return terminal.write(`${line()}\n`);
      terminal.write(line());
      timer = setInterval(() => terminal.write(`\r${line()}`), 1000);
    },
    end,
  };
}
