type Terminal = Pick<NodeJS.WriteStream, 'write' | 'isTTY'>;

export type StartSteps = ReturnType<typeof startSteps>;

/** On a terminal the seconds count on, so that a slow step does not look stuck. */
export function startSteps(terminal: Terminal = process.stdout) {
  const startedAt = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    if (timer !== undefined) terminal.write('\n');
    clearInterval(timer);
    timer = undefined;
  };
  return {
    start(step: string): void {
      end();
      const line = () => `[${((performance.now() - startedAt) / 1000).toFixed(1)} s] ${step}`;
      terminal.write(terminal.isTTY ? line() : `${line()}\n`);
      if (terminal.isTTY) timer = setInterval(() => terminal.write(`\r${line()}`), 1000);
    },
    end,
  };
}
