import assert from 'node:assert/strict';

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

/**
 * Asks for a person in each mode: the client returns one, and fails for a model that never says JSON, never says a
 * person, or is cut. Then runs other checks.
 * @param modes functions from a message to an object
 */
export async function runForms(modes, others = {}) {
  const checks = Object.entries(modes).map(([mode, ask]) => [
    mode,
    async () => {
      assert.deepEqual({ ...(await ask('Person')) }, { name: 'Ann', age: 7 });
      for (const never of ['No JSON', 'No person', 'Cut person'])
        await assert.rejects(ask(`${never} (${mode})`));
    },
  ]);
  await runChecks({ ...Object.fromEntries(checks), ...others });
}
