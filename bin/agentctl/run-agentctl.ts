import { Command, CommanderError } from 'commander';
import {
  exitCodeOf,
  exitCodes,
  isBug,
  Mistakes,
  printUsageErrors,
  UsageError,
  version,
} from '../failures.ts';
import { printError } from '../terminal.ts';
import { noteAddresses } from './connection-failures.ts';
import { describeAwsFailure } from './describe-aws-failure.ts';
import type { SharedOptions } from './report.ts';
import { describeServiceFailure } from './service-client.ts';

const groups: Readonly<Record<string, () => Promise<Command>>> = {
  workspaces: async () => (await import('./workspace-commands.ts')).workspaceCommands(),
  keys: async () => (await import('./key-commands.ts')).keyCommands(),
  agents: async () => (await import('./agent-commands.ts')).agentCommands(),
  tools: async () => (await import('./tool-commands.ts')).toolCommands(),
  whitelist: async () => (await import('./whitelist-commands.ts')).whitelistCommands(),
  knowledge: async () => (await import('./knowledge-commands.ts')).knowledgeCommands(),
  usage: async () => (await import('./usage-command.ts')).usageCommand(),
  prices: async () => (await import('./price-commands.ts')).priceCommands(),
  audit: async () => (await import('./audit-command.ts')).auditCommand(),
  chats: async () => (await import('./chats-commands.ts')).chatsCommands(),
  users: async () => (await import('./users-commands.ts')).usersCommands(),
  smoke: async () => (await import('./smoke-command.ts')).smokeCommand(),
  secrets: async () => (await import('./secret-commands.ts')).secretCommands(),
  chat: async () => (await import('./chat-commands.ts')).chatCommand(),
  batch: async () => (await import('./batch-commands.ts')).batchCommands(),
  webhooks: async () => (await import('./webhook-commands.ts')).webhookCommands(),
};

/** A single group if the command line starts with its name: `chat` and `batch` then load no clients of AWS. */
const groupsFor = ([, , first = '']: readonly string[]) => {
  const only = Object.hasOwn(groups, first) ? groups[first] : undefined;
  return only === undefined ? Object.values(groups) : [only];
};

export async function createProgram(argv: readonly string[]): Promise<Command> {
  const program = new Command('agentctl')
    .description(
      'Operates the service (workspaces, API keys, agents, whitelists, secrets), and uses it as a client (chat, batches).',
    )
    .option('--data <folder>', 'the data folder of a local run', '.local')
    .option('--stack <name>', 'a deployed stack instead of a local run, such as agent-service-production')
    .option('--json', 'print the result as one JSON object');
  for (const load of groupsFor(argv)) program.addCommand(await load());
  printUsageErrorsOf(program, 'agentctl');
  acceptSharedOptionsAnywhere(program);
  return program.version(version);
}

function printUsageErrorsOf(command: Command, name: string): void {
  printUsageErrors(command.exitOverride(), `${name} --help`);
  for (const part of command.commands) printUsageErrorsOf(part, `${name} ${part.name()}`);
}

export async function runAgentctl(argv: string[]): Promise<void> {
  noteAddresses();
  const program = await createProgram(argv);
  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = exitCodeOf(error);
      return;
    }
    printError(linesOf(error, program.opts<SharedOptions>()));
    process.exitCode = error instanceof UsageError ? exitCodes.usageError : exitCodes.failure;
  }
}

function linesOf(error: unknown, { stack }: SharedOptions): readonly string[] {
  if (error instanceof Mistakes) return error.lines;
  const failure = describeAwsFailure(error, stack) ?? describeServiceFailure(error);
  return isBug(error) ? failure.split('\n') : [failure];
}

/** Makes `agentctl keys list --workspace W --json` the same as `agentctl --json keys list --workspace W`. */
function acceptSharedOptionsAnywhere(program: Command): void {
  const leaves = program.commands.flatMap((group) =>
    group.commands.length === 0 ? [group] : group.commands,
  );
  for (const leaf of leaves) {
    for (const { flags, description } of program.options) leaf.option(flags, description);
    leaf.hook('preAction', (_, action) => {
      for (const option of program.options) {
        const value: unknown = action.getOptionValue(option.attributeName());
        if (value !== undefined) program.setOptionValue(option.attributeName(), value);
      }
    });
  }
}
