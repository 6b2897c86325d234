import { createInterface } from 'node:readline';
import { Command, InvalidArgumentError } from 'commander';
import type { ChatResource } from '#contract/chat.ts';
import { type HttpClient, httpClient } from './http-client.ts';
import { readReply } from './read-reply.ts';
import { ReplyScreen } from './reply-screen.ts';
import { agentOf, findService, withAddress } from './service-address.ts';

interface ChatOptions {
  agent?: string;
  user?: string;
  chat?: number;
  name: string;
}

/** A conversation under way. */
interface Conversation {
  client: HttpClient;
  agentId: string;
  user: string | undefined;
  chatId: number;
  screen: ReplyScreen;
}

/** Talks to an agent, as a client of the service. */
export function chatCommand(): Command {
  return withAddress(new Command('chat'))
    .description(
      'talk to an agent, as a client: a message and its reply, or without a message a conversation',
    )
    .argument('[message]')
    .option('--agent <agent>', 'who answers; the demo agent of a local run unless given')
    .option('--user <user>', 'the external_user_id to talk as')
    .option('--chat <id>', 'a chat to continue, with its own agent and user', readChatId)
    .option('--name <name>', 'of a new chat, until it gets a title', 'New chat')
    .addHelpText('after', chatHelp)
    .action(chat);
}

const chatHelp = `
The reply goes to standard output as it comes; reasoning steps, the title and errors go to standard error. With --json
the events of the stream are printed instead, one JSON object a line. The exit code is 1 when the reply ends with an error.

In a conversation each line is a message. Ctrl-C leaves at once: a reply that has begun is finished by the service and
stands in the history. Ctrl-D leaves too; so does the end of a file that is given as standard input.`;

function readChatId(text: string): number {
  const id = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(id))
    throw new InvalidArgumentError('It must be an integer.');
  return id;
}

async function chat(message: string | undefined, options: ChatOptions, command: Command): Promise<void> {
  const { json } = command.optsWithGlobals<{ json?: true }>();
  if (json === true && message === undefined) throw new Error('--json needs a message');
  const screen = new ReplyScreen();
  const service = await findService(command);
  // Four tries take seven seconds: as long as a person waits.
  const client = httpClient(service, { attempts: 4, waitsForRate: false, log: (line) => screen.note(line) });
  const agentId = agentOf(options.agent, service);
  const chatId = options.chat ?? (await createChat(client, agentId, options));
  const conversation = { client, agentId, user: options.user, chatId, screen };
  if (message === undefined) return converse(conversation);
  if (json !== true && options.chat === undefined) screen.note(`Chat ${chatId}`);
  if (!(await exchange(conversation, message, json === true))) process.exitCode = 1;
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

/** Sends a message and shows its reply; false when the reply is not whole. */
async function exchange(
  { client, agentId, user, chatId, screen }: Conversation,
  message: string,
  asJson: boolean,
): Promise<boolean> {
  const body = JSON.stringify({
    message,
    stream: true,
    agent_id: agentId,
    ...(user !== undefined && { external_user_id: user }),
  });
  const send = () =>
    client.open(`/chats/${chatId}/messages`, { body, headers: { Accept: 'text/event-stream' } });
  // Again only when nothing was done: a message must not be said twice.
  const response = await client.persist(
    send,
    ({ outcome }) => outcome === 'too many' || outcome === 'unconnected',
  );
  let isWhole = true;
  try {
    for await (const event of readReply(response)) {
      if (event.type === 'response.error') isWhole = false;
      if (asJson) console.log(JSON.stringify(event));
      else screen.show(event);
    }
  } finally {
    screen.end();
  }
  return isWhole;
}

async function converse(conversation: Conversation): Promise<void> {
  const { screen, chatId } = conversation;
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const input = createInterface({ input: process.stdin, output: process.stdout, terminal: isTerminal });
  const lines = input[Symbol.asyncIterator]();
  // Node.js reads keys itself on a terminal: Ctrl-C is no signal then.
  input.on('SIGINT', () => {
    screen.end();
    process.exit(130);
  });
  screen.note(`Chat ${chatId}. Ctrl-C leaves.`);
  for (;;) {
    if (isTerminal) input.prompt();
    const { value: message, done } = await lines.next();
    if (done === true) break;
    // A person has seen what went wrong; whoever gave a file learns it by the exit code.
    if (message.trim() !== '' && !(await respond(conversation, message)) && !isTerminal) process.exitCode = 1;
  }
  screen.end();
}

/** The conversation goes on when a message is refused or its reply breaks off. */
async function respond(conversation: Conversation, message: string): Promise<boolean> {
  try {
    return await exchange(conversation, message, false);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    conversation.screen.error(error.message);
    return false;
  }
}
