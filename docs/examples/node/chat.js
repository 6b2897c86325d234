// node chat.js "What is a lease?": prints the reply as it comes. Ctrl-C stops it.
import { agent_id, client } from './service.js';

const chat = await client.chats.create({ name: 'Example', agent_id });
// A resumable stream goes on by itself after a lost connection.
const stream = client.messages.stream(chat.id, {
  message: process.argv[2] ?? 'What is a lease?',
  agent_id,
  resumable: true,
});
process.once('SIGINT', () => stream.stop().catch(console.error));

for await (const event of stream) {
  if (event.type === 'response.reasoning_step.start')
    console.log(`[${event.step.type}] ${event.step.content}`);
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
}
const { id, usage } = await stream.finalMessage();
console.log(`\n${usage.total_tokens} tokens`);

await client.messages.feedback(chat.id, id, { type: 'sys_helpful', external_user_id: 'ada' });
