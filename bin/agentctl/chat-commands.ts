import { createInterface } from 'node:readline';
import { Command, InvalidArgumentError } from 'commander';
import type { ChatResource } from '#contract/chat.ts';
import { UsageError } from '../failures.ts';
import { ApiRejection, type HttpClient, httpClient } from './http-client.ts';
import { ReplyScreen } from './reply-screen.ts';
import { resumableReply } from './resumable-reply.ts';
import { agentOf, findService, withAddress } from './service-address.ts';

interface ChatOptions {
  agent?: string;
  user?: string;
  chat?: number;
  name: string;
}

/** A conversation in progress. */
interface Conversation {
  client: HttpClient;
  agentId: string;
  user: string | undefined;
  chatId: number;
  screen: ReplyScreen;
  /** The reply that is in progress; undefined between replies. */
  reply?: { id?: string; isStopped: boolean } | undefined;
}

/** Talks to an agent, as a client of the service. */
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

function readChatId(text: string): number {
  const id = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id))
    throw new InvalidArgumentError('It must be an integer.');
  return id;
}

async function chat(message: string | undefined, options: ChatOptions, command: Command): Promise<void> {
  const { json } = command.optsWithGlobals<{ json?: true }>();
  if (json === true && message === undefined) throw new UsageError('--json needs a message');
  const screen = new ReplyScreen();
  const service = await findService(command);
  // Four attempts wait for about eight seconds in all. A person would not wait longer.
  const client = httpClient(service, {
    attempts: 4,
    waitsForRateLimit: false,
    log: (line) => screen.note(line),
  });
  const agentId = agentOf(options.agent, service);
  const chatId = options.chat ?? (await createChat(client, agentId, options));
  const conversation: Conversation = { client, agentId, user: options.user, chatId, screen };
  const onSignal = () => interrupt(conversation);
  process.on('SIGINT', onSignal);
  try {
    if (message === undefined) return await converse(conversation);
    if (json !== true && options.chat === undefined) screen.note(`Chat ${chatId}`);
    const end = await exchange(conversation, message, json === true);
    if (end !== 'complete') process.exitCode = end === 'stopped' ? interruptedCode : 1;
  } finally {
    process.off('SIGINT', onSignal);
  }
}

/** The exit code of programs that SIGINT has ended. */
const interruptedCode = 130;

/** Stops the reply that is in progress. Without one, or the second time, it ends the program. */
function interrupt(conversation: Conversation): void {
  const { reply, screen } = conversation;
  if (reply === undefined || reply.isStopped) {
    screen.end();
    process.exit(interruptedCode);
  }
  reply.isStopped = true;
  screen.note('Stopping the reply. Ctrl-C again leaves.');
  if (reply.id !== undefined) stop(conversation, reply.id);
}

/** A reply that has ended meanwhile needs no stop. */
function stop({ client, chatId, user, screen }: Conversation, responseId: string): void {
  const body = JSON.stringify({
    response_id: responseId,
    ...(user !== undefined && { external_user_id: user }),
  });
  client.sendRequest(`/chats/${chatId}/stop`, { body }).catch((error: Error) => {
    if (!(error instanceof ApiRejection)) screen.error(error.message);
  });
}

async function createChat(client: HttpClient, agentId: string, { name, user }: ChatOptions): Promise<number> {
  const body = JSON.stringify({
    name,
    agent_id: agentId,
    ...(user !== undefined && { external_user_id: user }),
  });
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  return (await client.sendRequest<ChatResource>('/chats', { body, headers })).data.id;
}

/** Sends a message and shows its reply. */
async function exchange(
  conversation: Conversation,
  message: string,
  asJson: boolean,
): Promise<'complete' | 'stopped' | 'failed'> {
  const { client, agentId, user, chatId, screen } = conversation;
  const reply: NonNullable<Conversation['reply']> = { isStopped: false };
  conversation.reply = reply;
  let end: 'complete' | 'stopped' | 'failed' = 'complete';
  try {
    const sent = { chatId, user, fields: { message, agent_id: agentId } };
    for await (const event of resumableReply(client, sent, (line) => screen.note(line))) {
      reply.id = event.response_id;
      if (event.type === 'response.created' && reply.isStopped) stop(conversation, reply.id);
      if (event.type === 'response.error') end = 'failed';
      if (event.type === 'response.output_text.completed' && event.incomplete === 'stopped') end = 'stopped';
      if (asJson) console.log(JSON.stringify(event));
      else screen.show(event);
    }
  } finally {
    conversation.reply = undefined;
    screen.end();
  }
  return end;
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
    // A person at a terminal sees the error. A script that pipes a file needs the exit code.
    if (message.trim() !== '' && !(await respond(conversation, message)) && !isTerminal) process.exitCode = 1;
  }
  screen.end();
}

/** Makes one exchange. After a rejected message or an interrupted reply it shows the error and returns false. */
async function respond(conversation: Conversation, message: string): Promise<boolean> {
  try {
    return (await exchange(conversation, message, false)) !== 'failed';
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    conversation.screen.error(error.message);
    return false;
  }
}
