import process from 'node:process';
import { expect, it } from 'vitest';
import { startProgram } from '#support/command.ts';

const program = `
import { registerHooks } from 'node:module';
const loaded = new Set();
registerHooks({
  load(url, context, nextLoad) {
    const [, name] = /node_modules\\/(@aws-sdk\\/client-[a-z0-9-]+)/.exec(url) ?? [];
    if (name !== undefined) loaded.add(name);
    return nextLoad(url, context);
  },
});
for (const commands of ['chat', 'batch']) await import(\`./bin/agentctl/\${commands}-commands.ts\`);
console.log(JSON.stringify([...loaded]));
`;

it('the commands of clients, which people start often, load no client of AWS', async () => {
  const args = [process.execPath, '--input-type=module', '--no-warnings', '--eval', program];
  expect(await startProgram(args, {}).ended).toMatchObject({ stdout: '[]\n', stderr: '', code: 0 });
});
