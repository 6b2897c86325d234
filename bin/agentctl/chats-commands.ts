import type { FileHandle } from 'node:fs/promises';
import { Command } from 'commander';
import { type ExportedLine, exportChats } from '#domain/chats/history.ts';
import { chatPages, chats, clock, messages } from '#runtime/composition/services.ts';
import { interruptible } from './interruption.ts';
import { writeWhole } from './partial-file.ts';
import { countOf, progressLine } from './progress-line.ts';
import { operation, type Result } from './report.ts';
import { checkUser } from './whitelist-commands.ts';

export function chatsCommands(): Command {
  const group = new Command('chats').description('The chats of a workspace, for its operator.');
  operation(group, 'export', exportAll)
    .description('write all chats with their messages to a file, one JSON object per line')
    .requiredOption('--workspace <workspace>', 'whose chats')
    .option('--user <user>', 'only the chats of this external_user_id')
    .requiredOption('--out <file>', 'the file, which is replaced when all is written')
    .addHelpText('after', exportHelp);
  return group;
}

const exportHelp = `
Each line has a "type". "chat" is a chat as GET /chats shows it; "message" is a message as the history of its chat
("chat_id") shows it. Messages follow their chat, oldest first. Files are named, with "file_url" null: an address would be
valid for some minutes only.`;

async function exportAll(options: { workspace: string; user?: string; out: string }): Promise<Result> {
  const { workspace, user, out } = options;
  if (user !== undefined) checkUser(user);
  const services = {
    chatPages: chatPages(),
    chats: chats(),
    messages: messages(),
    clock,
    files: { address: async () => '' },
  };
  const counts = { chats: 0, messages: 0 };
  const countText = () => `${countOf(counts.chats, 'chat')} with ${countOf(counts.messages, 'message')}`;
  const describe = () => [
    `${out} is unchanged: ${countText()} were read. The next run exports all of them anew`,
  ];
  const write = async (file: FileHandle) => {
    for await (const lines of exportChats(services, { workspaceId: workspace, externalUserId: user })) {
      for (const { type } of lines) counts[type === 'chat' ? 'chats' : 'messages'] += 1;
      await file.appendFile(lines.map((line) => `${JSON.stringify(withoutAddresses(line))}\n`).join(''));
    }
  };
  const line = progressLine();
  await interruptible(line, describe, () => writeWhole(out, write)).catch((error: unknown) => {
    if (counts.chats > 0) describe().forEach(line.log);
    throw error;
  });
  return { json: { file: out, ...counts }, lines: [`${countText()} in ${out}`] };
}

const withoutAddresses = (line: ExportedLine) =>
  line.type === 'chat'
    ? line
    : { ...line, attached_files: line.attached_files.map((file) => ({ ...file, file_url: null })) };
