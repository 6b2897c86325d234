/**
 * Starts a command. This file and the entry points that import it are JavaScript, so that a Node.js which cannot run
 * TypeScript can still report what is missing.
 * @param {() => Promise<unknown>} load imports the command's TypeScript, which runs the command
 */
export async function launch(load) {
  // Node.js 22 runs TypeScript without an option from 22.18 on, and Node.js 24 in every version.
  if (!process.features.typescript)
    return fail(
      `Node.js ${process.versions.node} cannot run this: it needs Node.js 22.18 or newer. npm ci installs Node.js 24 for npm start and npm run`,
    );
  try {
    await load();
  } catch (error) {
    const [, name] = /^Cannot find package '([^']+)'/.exec(error?.message) ?? [];
    if (name === undefined) throw error;
    fail(`The package ${name} is not installed: run npm ci first`);
  }
}

/** @param {string} line */
function fail(line) {
  console.error(line);
  process.exitCode = 1;
}
