type Terminal = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;

export interface StartSteps {
  start(step: string): void;
  /** After this call, others may print. */
  end(): void;
}

/**
 * Prints each step of a start with the seconds since the start began. On a terminal the number is updated every second,
 * so that a slow step does not look stuck.
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
