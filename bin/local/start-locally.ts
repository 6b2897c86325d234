import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { hostAndPortForm, parseHostAndPort } from '#contract/host-and-port.ts';
import { UnreadableState } from '#local/data/state-file.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import type { StartedEmulators } from '#local/run-options.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { useLocalTable } from '../operator.ts';
import { type Connection, readConnection, writeConnection } from './connection.ts';
import { emptyDataFolder, makePrivate } from './data-folder.ts';
import { createDemoWorkspace, isThere } from './demo-workspace.ts';
import { watchMemory, writeMemory } from './memory-by-part.ts';
import { type SettingOptions, stageSettings } from './stage-settings.ts';
import { synthesize } from './synthesize.ts';
import { watchDisk } from './watch-disk.ts';

interface Options extends SettingOptions {
  port: number;
  data: string;
  reset: boolean;
  logs: boolean;
}

/** `npm start`: the stack of bin/app.ts on this machine. Ctrl-C ends it. */
export async function startLocally(argv: string[]): Promise<void> {
  const options = new Command('npm start --')
    .description(
      'Runs the service on this machine: the template that cdk deploy deploys, on embedded engines.',
    )
    .option('--port <number>', 'where the service listens on 127.0.0.1', readPort, 3000)
    .option('--data <folder>', 'where chats, agents and keys are kept', '.local')
    .option('--reset', 'begin with an empty data folder', false)
    .option('--logs', 'show what the functions log', false)
    .option(
      '--allow-outbound <host:port>',
      'an address that agents may read pages from although it is not public; may be repeated',
      addHostAndPort,
      [],
    )
    .option(
      '--set <name=value>',
      'a setting of the stage (lib/settings.ts), its value as JSON or else as text; may be repeated',
      (text, resumed: string[]) => [...resumed, text],
      [],
    )
    .option(
      '--batch-timeout <seconds>',
      'how long a batch may take: the setting batchTimeoutSeconds',
      readSeconds,
    )
    .addHelpText(
      'after',
      '\nOPENAI_BASE_URL and OPENAI_API_KEY reach the agents whose llm_model is openai:MODEL.' +
        '\nSEARXNG_URL, or else BRAVE_API_KEY, lets agents search the web.' +
        '\nThe signal SIGUSR2 has memory.json written to the data folder: what each part of the process holds.',
    )
    .parse(argv)
    .opts<Options>();
  // Nobody else reads what this process and its engines write.
  process.umask(0o077);
  const memory = watchMemory();
  try {
    const service = await start({ ...options, data: resolve(options.data) });
    watchDisk(resolve(options.data), (line) => console.error(line));
    process.on('SIGUSR2', () => {
      memory()
        .then((parts) => writeMemory(join(resolve(options.data), 'memory.json'), parts))
        .catch((error: unknown) => console.error(`memory.json could not be written: ${error}`));
    });
    closeOnSignals(service);
  } catch (error) {
    const line = error instanceof Error ? error.message : error;
    console.error(
      error instanceof UnreadableState
        ? `${line}. Start with --reset to begin with an empty data folder.`
        : line,
    );
    process.exit(1);
  }
}

/**
 * npm passes a Ctrl-C on that the terminal has sent to this process as well. A second one within this time is that one;
 * nobody means by it that the first has been in vain.
 */
const sameSignalMilliseconds = 1000;

/** Ends the run when a person, a supervisor or a terminal that is closed asks for it. */
function closeOnSignals(service: RunningTemplate): void {
  let requestedAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      // A second signal, or an engine that hangs, must not keep the terminal.
      if (requestedAt !== undefined) {
        if (performance.now() - requestedAt > sameSignalMilliseconds) process.exit(1);
        return;
      }
      requestedAt = performance.now();
      setTimeout(() => process.exit(1), 5000).unref();
      service.close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
}

function addHostAndPort(text: string, resumed: string[]): string[] {
  if (parseHostAndPort(text) === undefined) throw new InvalidArgumentError(`It must be ${hostAndPortForm}.`);
  return [...resumed, text];
}

function readSeconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a number of seconds.');
  return Number(text);
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a port, 0 to 65535.');
  return port;
}

async function start(options: Options): Promise<RunningTemplate> {
  const started = performance.now();
  const log = (line: string) =>
    console.log(`[${((performance.now() - started) / 1000).toFixed(1)} s] ${line}`);
  const settings = stageSettings(options, process.env);
  const assembly = join(options.data, 'assembly');
  let connection: Connection | undefined;
  const service = await runTemplate({
    assembly,
    dataDir: options.data,
    port: options.port,
    prewarm: true,
    clearAuthorizerCacheOnWrite: true,
    // A quota of the account, which no template has; the default of setting and runner is the same.
    ...(typeof settings.accountConcurrency === 'number' && {
      accountConcurrency: settings.accountConcurrency,
    }),
    async prepare() {
      if (options.reset) await emptyDataFolder(options.data);
      await makePrivate(options.data);
      log('Synthesizing the stack, if it has changed');
      await synthesize(assembly, settings);
      log('Starting the engines');
    },
    secretValues: {
      ...(process.env.OPENAI_API_KEY && { OpenAiApiKey: process.env.OPENAI_API_KEY }),
      ...(process.env.BRAVE_API_KEY && { BraveApiKey: process.env.BRAVE_API_KEY }),
    },
    // What would fail in AWS is told whether or not logs are wanted.
    onDenied: (message) => console.error(`Access denied. ${message}`),
    ...(options.logs && { onLog: ({ functionName, line }) => console.log(`${functionName}: ${line}`) }),
    // Whoever gets the first answer finds the file in place.
    async beforeServing(emulators) {
      connection = await connect(emulators, options.data);
      await writeConnection(options.data, connection);
    },
  });
  log('Ready');
  if (connection !== undefined) console.log(greeting(connection));
  return service;
}

/** The demo workspace of the data folder, made anew when there is none. */
async function connect(emulators: StartedEmulators, folder: string): Promise<Connection> {
  const table = emulators.outputs.DataTableName;
  if (table === undefined) throw new Error('The stack has no output DataTableName');
  useLocalTable(table, emulators.endpoints.dynamodb);
  const resumed = await readConnection(folder);
  const demo = resumed !== undefined && (await isThere(resumed)) ? resumed : await createDemoWorkspace();
  return {
    ...demo,
    base_url: `${emulators.url}/v1`,
    pid: process.pid,
    access_key_id: operatorCredentials.accessKeyId,
    secret_access_key: operatorCredentials.secretAccessKey,
    data_table: table,
    dynamodb_endpoint: emulators.endpoints.dynamodb,
    ...(emulators.outputs.ContentBucketName !== undefined && {
      content_bucket: emulators.outputs.ContentBucketName,
      s3_endpoint: emulators.endpoints.s3,
    }),
    ...(emulators.outputs.BatchWorkflowArn !== undefined && {
      batch_workflow: emulators.outputs.BatchWorkflowArn,
      sfn_endpoint: emulators.endpoints.sfn,
    }),
    bedrock_knowledge_bases: JSON.parse(emulators.outputs.BedrockKnowledgeBases ?? '[]') as string[],
    bedrock_models: JSON.parse(emulators.outputs.BedrockModels ?? '[]') as string[],
  };
}

function greeting({ base_url, api_key, workspace_id, agent_id, chat_id }: Connection): string {
  const curl = (flags: string, stream: boolean) =>
    `curl ${flags} ${base_url}/chats/${chat_id}/messages -H 'x-api-key: ${api_key}' -H 'Content-Type: application/json' ` +
    `-d '${JSON.stringify({ agent_id, message: 'What can you do?', stream })}'`;
  return `
Base address  ${base_url}
API key       ${api_key}
Workspace     ${workspace_id}
Agent         ${agent_id}
openai:       ${process.env.OPENAI_BASE_URL || 'https://api.openai.com/v1, unless OPENAI_BASE_URL says otherwise'}

One JSON reply:
${curl('-s', false)}

A stream of events:
${curl('-sN', true)}

Ctrl-C ends it.`;
}
