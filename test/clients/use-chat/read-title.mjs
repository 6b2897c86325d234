// Prints what useChat's state has of a reply whose title comes after its text.
import { Chat } from '@ai-sdk/react';
import { toUIMessageStream } from '@chat-batch/client';

const common = { response_id: 'resp_1', chat_id: 7, message_id: 9 };
async function* events() {
  yield { ...common, type: 'response.created' };
  yield { ...common, type: 'response.output_text.delta', delta: 'Hello' };
  yield { ...common, type: 'response.output_text.completed', final_text: 'Hello', usage: { total_calls: 2 } };
  yield { ...common, type: 'response.chat.title.updated', name: 'Greetings' };
}

const titles = [];
const chat = new Chat({
  transport: { sendMessages: async () => toUIMessageStream(events()) },
  onData: ({ type, data }) => type === 'data-chat-title' && titles.push(data.name),
});
await chat.sendMessage({ text: 'Hi' });
const { parts, metadata } = chat.lastMessage;
console.log(JSON.stringify({ status: chat.status, text: parts.at(-1).text, metadata, titles }));
