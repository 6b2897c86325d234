import { createInterface } from 'node:readline';
import { Command } from 'commander';
import {
  BadRequestError,
  type ChatBatchClient,
  ReplyFailedError,
  type ReplyStream,
} from '#lib/client/index.ts';
import { exitCodes, UsageError } from '../failures.ts';
import { print } from '../terminal.ts';
import { wholeNumber } from '../whole-number.ts';
import { formatOf, readSchema } from './read-json.ts';
import { ReplyScreen } from './reply-screen.ts';
import { agentOf, findService, withAddress } from './service-address.ts';
import { describeServiceFailure, openClient } from './service-client.ts';

interface ChatOptions {
  agent?: string;
  user?: string;
  chat?: number;
  name: string;
  schema?: string;
}

interface Conversation {
  client: ChatBatchClient;
  agentId: string;
  chatId: number;
  screen: ReplyScreen;
  format: ReturnType<typeof formatOf>;
  reply?: { stream: ReplyStream; isStopped: boolean } | undefined;
}

export function chatCommand(): Command {
  return withAddress(new Command('chat'))
    .description(
      'chat with an agent as a client: one message and its reply, or a conversation if no message is given',
    )
    .argument('[message]')
    .option('--agent <agent>', 'the agent that replies; by default the demo agent of a local run')
    .option('--user <user>', 'the external_user_id of the user')
    .option('--chat <id>', 'a chat to continue; it must have the same agent and user', readChatId)
    .option('--name <name>', 'the name of a new chat, until it gets a title', 'New chat')
    .option('--schema <file>', 'a file with a JSON Schema that the reply fits')
    .addHelpText('after', chatHelp)
    .action(chat);
}

const chatHelp = `
Standard output gets the text of the reply while the model writes it. Standard error gets reasoning steps, the title
and errors. With --json the command prints the events of the stream instead, one JSON object per line. The exit code is
1 if the reply ends with an error.

Ctrl-C stops the reply: its text so far stays in the history. A second Ctrl-C leaves at once, and the service then
completes or stops the reply by itself. A lost connection is resumed, and the message is not sent twice.

In a conversation each line is a message. Between replies, Ctrl-C, Ctrl-D and the end of standard input leave.`;

const readChatId = wholeNumber('an integer');

async function chat(message: string | undefined, options: ChatOptions, command: Command): Promise<void> {
  const { json } = command.optsWithGlobals<{ json?: true }>();
  if (json === true && message === undefined) throw new UsageError('--json needs a message');
  const format = formatOf(await readSchema(options.schema));
  const screen = new ReplyScreen();
  const service = await findService(command);
  // Unless the service names a time, the waits before three retries take about eight seconds in all.
  const client = openClient(service, (line) => screen.note(line), {
    maxRetries: 3,
    externalUserId: options.user,
  });
  const agentId = agentOf(options.agent, service);
  const chatId = options.chat ?? (await client.chats.create({ name: options.name, agent_id: agentId })).id;
  const conversation: Conversation = { client, agentId, chatId, screen, format };
  const onSignal = () => interrupt(conversation);
  process.on('SIGINT', onSignal);
  try {
    if (message === undefined) return await converse(conversation);
    if (json !== true && options.chat === undefined) screen.note(`Chat ${chatId}`);
    const end = await exchange(conversation, message, json === true);
    if (end !== 'complete') process.exitCode = end === 'stopped' ? exitCodes.interrupted : 1;
  } finally {
    process.off('SIGINT', onSignal);
  }
}

function interrupt(conversation: Conversation): void {
  const { reply, screen } = conversation;
  if (reply === undefined || reply.isStopped) {
    screen.end();
    process.exit(exitCodes.interrupted);
  }
  reply.isStopped = true;
  screen.note('Stopping the reply. Ctrl-C again leaves.');
  // Before the first event the id of the reply is unknown, and a stop could end the reply of another client.
  if (reply.stream.responseId !== undefined) stop(reply.stream, screen);
}

/** If the reply has ended meanwhile, the service rejects the call, which needs no message. */
function stop(stream: ReplyStream, screen: ReplyScreen): void {
  stream.stop().catch((error: unknown) => {
    if (!(error instanceof BadRequestError)) screen.error(describeServiceFailure(error));
  });
}

async function exchange(
  conversation: Conversation,
  message: string,
  asJson: boolean,
): Promise<'complete' | 'stopped' | 'failed'> {
  const { client, agentId, chatId, screen, format } = conversation;
  const body = { message, agent_id: agentId, resumable: true, response_format: format };
  const stream = client.messages.stream(chatId, body);
  const reply = { stream, isStopped: false };
  conversation.reply = reply;
  try {
    for await (const event of stream) {
      if (event.type === 'response.created' && reply.isStopped) stop(stream, screen);
      if (asJson) print([JSON.stringify(event)]);
      else screen.show(event);
    }
    return (await stream.finalMessage()).incomplete === 'stopped' ? 'stopped' : 'complete';
  } catch (error) {
    if (!(error instanceof ReplyFailedError)) throw error;
    if (asJson) print([JSON.stringify(error.event)]);
    else screen.error(describeServiceFailure(error));
    return 'failed';
  } finally {
    conversation.reply = undefined;
    screen.end();
  }
}

async function converse(conversation: Conversation): Promise<void> {
  const { screen, chatId } = conversation;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const input = createInterface({ input: process.stdin, output: process.stdout, terminal: isTerminal });
  const lines = input[Symbol.asyncIterator]();
  // On a terminal readline reads the keys itself, so Ctrl-C is an event and not a signal.
  input.on('SIGINT', () => interrupt(conversation));
  screen.note(`Chat ${chatId}. Ctrl-C stops a reply, or leaves.`);
  for (;;) {
    if (isTerminal) input.prompt();
    const { value: message, done } = await lines.next();
    if (done === true) break;
    if (message.trim() === '') continue;
    const onError = (error: unknown) => {
      screen.error(describeServiceFailure(error));
      return 'failed';
    };
    const end = await exchange(conversation, message, false).catch(onError);
    // A person at a terminal sees the error. A script needs the exit code.
    if (end === 'failed' && !isTerminal) process.exitCode = 1;
  }
  screen.end();
}
