/** Runs the checks one after the other. Prints a line of JSON for each: its name, and its error or null. */
export async function runChecks(checks) {
  for (const [check, run] of Object.entries(checks)) {
    const error = await run().then(
      () => null,
      (reason) => String(reason?.stack ?? reason),
    );
    console.log(JSON.stringify({ check, error }));
  }
}
