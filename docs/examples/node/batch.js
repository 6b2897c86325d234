// node batch.js [FILE]: answers each line of a file, and prints the answers in the order of the lines.
import { readFile } from 'node:fs/promises';
import { agent_id, client } from './service.js';

const [, , file] = process.argv;
const text =
  file === undefined ? 'What is a lease?\nWhat is a deposit?\nWhat is rent?' : await readFile(file, 'utf8');
const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');

const { results } = await client.batches.submitAndWait(
  {
    agent_id,
    requests: lines.map((message, index) => ({ custom_id: `line-${index + 1}`, message })),
  },
  {
    onProgress: (progress) =>
      console.error(
        `${progress.completed_requests} of ${progress.total_requests}, ${progress.failed_requests} failed`,
      ),
  },
);
for (const { custom_id, status, response_content, error_message } of results)
  console.log(`${custom_id}: ${status === 'success' ? response_content : `failed, ${error_message}`}`);
