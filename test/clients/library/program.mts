// Compiled and run as an ES module and as CommonJS, so without await outside of functions.
import { ChatBatchClient, NotFoundError, type StreamEvent } from '@chat-batch/client';
import { openFile } from '@chat-batch/client/node';

declare const process: { env: Record<string, string | undefined>; exitCode?: number };

async function main(): Promise<void> {
  const { BASE_URL = '', API_KEY = '', AGENT_ID: agent_id = '' } = process.env;
  const client = new ChatBatchClient({ baseUrl: BASE_URL, apiKey: API_KEY });
  const chat = await client.chats.create({ name: 'Packed', agent_id });
  const file = await client.files.upload(await openFile('note.txt'));
  const stream = client.messages.stream(chat.id, {
    message: 'Hello',
    agent_id,
    attached_file_uuids: [file.uuid],
    resumable: true,
  });
  const types: StreamEvent['type'][] = [];
  for await (const { type } of stream) types.push(type);
  const { results } = await client.batches.submitAndWait(
    { agent_id, requests: [{ custom_id: 'one', message: 'Hello' }] },
    { pollInterval: 50 },
  );
  const missing: unknown = await client.chats.get(999_999_999).catch((error: unknown) => error);
  const expected: Record<string, boolean> = {
    'complete stream': types.includes('response.output_text.completed'),
    'file of the disk': file.content_type === 'text/plain' && file.size === 5,
    'result of a batch': results[0]?.status === 'success',
    'class of the error': missing instanceof NotFoundError,
  };
  for (const [what, isRight] of Object.entries(expected)) if (!isRight) throw new Error(`No ${what}`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
