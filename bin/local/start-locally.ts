import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { functionArn } from '#contract/tools.ts';
import { hostAndPortForm, parseHostAndPort } from '#contract/urls.ts';
import { chooseDynamoDb, thisPlatform } from '#local/dynamodb/choose-dynamodb.ts';
import { operatorCredentials } from '#local/iam/operator-credentials.ts';
import { awsTime, type StartedEmulators } from '#local/run-options.ts';
import { type RunningTemplate, runTemplate } from '#local/run-template.ts';
import { listenOnLoopback } from '#local/wire/listen-on-loopback.ts';
import { variables } from '#runtime/environment/variables.ts';
import { useListed } from '../agentctl/read-agent.ts';
import { bugReport, exitCodeOf, exitCodes, printUsageErrors, UsageError, version } from '../failures.ts';
import { useLocalResources, useLocalTable } from '../operator.ts';
import { print, printError } from '../terminal.ts';
import { readPort, wholeNumber } from '../whole-number.ts';
import {
  type Connection,
  dataFormat,
  listedBy,
  readConnection,
  rejectOtherFormats,
  targetResources,
  writeConnection,
} from './connection.ts';
import { emptyDataFolder, makePrivate } from './data-folder.ts';
import { createDemoWorkspace, demoExists } from './demo-workspace.ts';
import { describeStartFailure } from './describe-start-failure.ts';
import { watchMemory, writeMemory } from './memory-by-part.ts';
import { operatorCalls } from './operator-calls.ts';
import { playground, playgroundAddress } from './playground.ts';
import { showProviderErrors } from './show-provider-errors.ts';
import { endpointKeys, pageOrigins, type SettingOptions, stageSettings } from './stage-settings.ts';
import { type StartSteps, startSteps } from './start-steps.ts';
import { synthesize } from './synthesize.ts';
import { watchDisk } from './watch-disk.ts';

interface Options extends SettingOptions {
  port: number;
  data: string;
  reset: boolean;
  logs: boolean;
  awsTime: boolean;
}

/**
 * The beginnings of their logical ids. They are loaded right after the start, so that the first batch seldom waits for
 * them.
 */
const functionsOfBatches = ['CreateBatch', 'GetBatch', 'DispatchBatch', 'ProcessBatchItems', 'AdvanceBatch'];

export async function startLocally(argv: string[]): Promise<void> {
  const options = readOptions(argv);
  process.on('uncaughtExceptionMonitor', () => printError([bugReport]));
  // Only the owner may read the files that this process and its emulators write.
  process.umask(0o077);
  const memory = watchMemory();
  const steps = startSteps();
  try {
    showProviderErrors((line) => printError([line]));
    const service = await start({ ...options, data: resolve(options.data) }, steps);
    watchDisk(resolve(options.data), (line) => printError([line]));
    process.on('SIGUSR2', () => {
      memory()
        .then((parts) => writeMemory(join(resolve(options.data), 'memory.json'), parts))
        .catch((error: unknown) => printError([`memory.json could not be written: ${error}`]));
    });
    closeOnSignals(service);
  } catch (error) {
    steps.end();
    printError(describeStartFailure(error, resolve(options.data)).split('\n'));
    process.exit(error instanceof UsageError ? exitCodes.usageError : exitCodes.failure);
  }
}

function readOptions(argv: string[]): Options {
  return printUsageErrors(new Command('npm start --'), 'npm start -- --help')
    .exitOverride((error) => process.exit(exitCodeOf(error)))
    .version(version)
    .description(
      'Runs the service on this machine: the template that cdk deploy deploys, on embedded emulators of AWS services.',
    )
    .option('--port <number>', 'the port on 127.0.0.1', readPort, 3000)
    .option('--data <folder>', 'the folder that stores chats, agents and keys', '.local')
    .option('--reset', 'empty the data folder first', false)
    .option('--logs', 'show the log lines of the functions', false)
    .option(
      '--aws-time',
      'give DynamoDB the latencies of AWS, the conflicts of transactions and the limits of a partition key',
      false,
    )
    .option(
      '--allow-outbound <host:port>',
      'a private address from which agents may read pages; may be repeated',
      addHostAndPort,
      [],
    )
    .option(
      '--tool-function <arn=file>',
      'a function whose tools agents may have, and the module whose `handler` it is here; may be repeated',
      addToolFunction,
      {},
    )
    .option(
      '--set <name=value>',
      'a setting of the stage (docs/settings.md); the value is JSON, or else text; may be repeated',
      (text, previous: string[]) => [...previous, text],
      [],
    )
    .option(
      '--batch-timeout <seconds>',
      'the maximum duration of a batch: the setting batchTimeoutSeconds',
      wholeNumber('a number of seconds'),
    )
    .addHelpText(
      'after',
      '\nAgents whose llm_model is openai:MODEL use OPENAI_BASE_URL and OPENAI_API_KEY.' +
        '\nOPENAI_API_KEY_NAME is the key of openai@NAME:MODEL: of the endpoint NAME of the setting openAiEndpoints.' +
        '\nWith SEARXNG_URL, or else BRAVE_API_KEY, agents can search the web.' +
        '\nAfter the signal SIGUSR2 the process writes its memory use by part to memory.json in the data folder.',
    )
    .parse(argv)
    .opts<Options>();
}

/**
 * Ctrl-C sends SIGINT to this process and to npm, which forwards it to this process. A further signal within this time
 * counts as that copy.
 */
const sameSignalMilliseconds = 1000;

function closeOnSignals(service: RunningTemplate): void {
  let requestedAt: number | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      // After `sameSignalMilliseconds`, a signal ends the process immediately. The timeout is for a hanging emulator.
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

function addHostAndPort(text: string, previous: string[]): string[] {
  if (parseHostAndPort(text) === undefined) throw new InvalidArgumentError(`It must be ${hostAndPortForm}.`);
  return [...previous, text];
}

function addToolFunction(text: string, previous: Record<string, string>): Record<string, string> {
  const end = text.indexOf('=');
  const [arn, file] = [text.slice(0, end), resolve(text.slice(end + 1))];
  const { error } = functionArn.safeParse(arn);
  if (error !== undefined)
    throw new InvalidArgumentError('It must be ARN=FILE, with the alias of the function.');
  if (!/\.[cm]?js$/.test(file) || !existsSync(file))
    throw new InvalidArgumentError(`There is no module of JavaScript: ${file}.`);
  return { ...previous, [arn]: file };
}

async function start(options: Options, steps: StartSteps): Promise<RunningTemplate> {
  const settings = stageSettings(options, process.env);
  const assembly = join(options.data, 'assembly');
  const operatorToken = randomBytes(24).toString('base64url');
  let connection: Connection | undefined;
  const service = await runTemplate({
    assembly,
    dataDir: options.data,
    port: options.port,
    site: { ...playground, calls: operatorCalls(operatorToken) },
    pageOrigins: await pageOrigins(settings),
    // So a second thread starts later: its start takes processor time from the first one.
    environmentsPerThread: { ChatsServer: 2 },
    prewarm: functionsOfBatches,
    clearAuthorizerCacheOnWrite: true,
    ...(options.awsTime && { faults: awsTime }),
    // The concurrency quota of the account is not in the template.
    ...(typeof settings.accountConcurrency === 'number' && {
      accountConcurrency: settings.accountConcurrency,
    }),
    async prepare() {
      // Checked before the synthesis, which may take a minute.
      const checked = await listenOnLoopback(createServer(), { port: options.port });
      await checked.close();
      await chooseDynamoDb(thisPlatform);
      if (options.reset) await emptyDataFolder(options.data);
      await rejectOtherFormats(options.data);
      await makePrivate(options.data);
      await synthesize(assembly, settings, () =>
        steps.start('Synthesizing the stack, which is new or has changed: up to a minute'),
      );
      steps.start('Starting the emulators');
    },
    environment: { [variables.showProviderErrors]: 'true' },
    otherFunctions: options.toolFunction,
    secretValues: {
      ...(process.env.OPENAI_API_KEY && { OpenAiApiKey: process.env.OPENAI_API_KEY }),
      ...endpointKeys(process.env),
      ...(process.env.BRAVE_API_KEY && { BraveApiKey: process.env.BRAVE_API_KEY }),
    },
    // Printed even without --logs, because the call would fail in AWS.
    onDenied: (message) => printError([`Access denied. ${message}`]),
    ...(options.logs && { onLog: ({ functionName, line }) => print([`${functionName}: ${line}`]) }),
    // connection.json is complete before the service responds to the first request.
    async beforeServing(emulators) {
      connection = { ...(await connect(emulators, options.data)), operator_token: operatorToken };
      useLocalResources(connection);
      useListed(listedBy(connection));
      await writeConnection(options.data, connection);
    },
  });
  steps.start('Ready');
  steps.end();
  if (connection !== undefined) print(greeting(connection).split('\n'));
  return service;
}

async function connect(emulators: StartedEmulators, folder: string): Promise<Connection> {
  const table = emulators.outputs.DataTableName;
  if (table === undefined) throw new Error('The stack has no output DataTableName');
  if (emulators.endpoints.dynamodb === '')
    throw new Error(`The setting restoredTable names the table ${table}, but ${folder} has no tables`);
  useLocalTable(table, emulators.endpoints.dynamodb);
  const previous = await readConnection(folder);
  const demo =
    previous !== undefined && (await demoExists(previous)) ? previous : await createDemoWorkspace();
  const { api_key, workspace_id, agent_id, chat_id } = demo;
  // Nothing else of `previous` is used, because this run may have other addresses and settings.
  return {
    ...{ api_key, workspace_id, agent_id, chat_id },
    data_format: dataFormat,
    base_url: `${emulators.url}/v1`,
    pid: process.pid,
    access_key_id: operatorCredentials.accessKeyId,
    secret_access_key: operatorCredentials.secretAccessKey,
    ...resourcesOf(emulators),
    data_table: table,
    dynamodb_endpoint: emulators.endpoints.dynamodb,
    bedrock_knowledge_bases: JSON.parse(emulators.outputs.BedrockKnowledgeBases ?? '[]') as string[],
    bedrock_models: JSON.parse(emulators.outputs.BedrockModels ?? '[]') as string[],
    tool_functions: JSON.parse(emulators.outputs.ToolFunctions ?? '[]') as string[],
  };
}

const resourcesOf = ({ outputs, endpoints }: StartedEmulators): Partial<Connection> =>
  Object.fromEntries(
    targetResources
      .filter(({ output }) => outputs[output] !== undefined)
      .flatMap(({ output, field, service }) => [
        [field, outputs[output]],
        [`${service}_endpoint`, endpoints[service]],
      ]),
  );

/** With the lines before it, it usually fits a terminal of 24 rows of 80 columns. */
function greeting(connection: Connection): string {
  const { base_url, api_key, operator_token, workspace_id, agent_id, chat_id } = connection;
  const server = process.env.OPENAI_BASE_URL;
  return `
Next: open this address in a browser, and chat with the demo agent.
${playgroundAddress(base_url, api_key, operator_token)}

Base address  ${base_url}
OpenAI API    ${base_url}/openai (docs/openai.md)
API key       ${api_key}
Workspace     ${workspace_id}
Agent         ${agent_id}${server ? `\nopenai:       ${server}` : ''}

curl -sN ${base_url}/chats/${chat_id}/messages \\
  -H 'x-api-key: ${api_key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"message":"Hello","agent_id":"${agent_id}"}'
Ctrl-C ends it.`;
}
