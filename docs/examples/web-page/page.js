import { ChatBatchClient } from '/client.js';

// The server of the page adds the key, the agent and the user.
const client = new ChatBatchClient({ baseUrl: `${location.origin}/api`, apiKey: 'at-the-server' });
const [messages, form, text, send, stop] = ['messages', 'form', 'text', 'send', 'stop'].map((id) =>
  document.getElementById(id),
);
let chat;

function show(className, content = '') {
  const line = document.createElement('p');
  line.className = className;
  line.textContent = content;
  messages.append(line);
  return line;
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = text.value;
  text.value = '';
  show('user', message);
  send.hidden = true;
  stop.hidden = false;
  try {
    chat ??= await client.chats.create({ name: 'Chat' });
    const stream = client.messages.stream(chat.id, { message });
    stop.onclick = () => stream.stop().catch(({ message }) => show('error', message));
    let reply;
    for await (const { type, step, delta } of stream) {
      if (type === 'response.reasoning_step.start') {
        show('step', step.content);
        reply = undefined;
      }
      if (type === 'response.output_text.delta') {
        reply ??= show('reply');
        reply.textContent += delta;
      }
    }
  } catch (error) {
    show('error', error.message);
  }
  send.hidden = false;
  stop.hidden = true;
});
