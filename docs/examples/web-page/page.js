import { ChatBatchClient } from '/client.js';

// The server of the page adds the key, the agent and the user.
const client = new ChatBatchClient({ baseUrl: `${location.origin}/api`, apiKey: 'at-the-server' });
const [messages, form, text, send, stop] = ['messages', 'form', 'text', 'send', 'stop'].map((id) =>
  document.getElementById(id),
);
/** The address of the page names the chat, so a reload finds it. A new chat has no number yet. */
let chatId = Number(new URLSearchParams(location.search).get('chat')) || undefined;
/** The reply in progress, and whether there is one, also before its stream is there. */
let reply;
let isBusy = false;

function show(className, content = '') {
  const line = document.createElement('p');
  line.className = className;
  line.dir = 'auto';
  line.textContent = content;
  messages.append(line);
  return line;
}

const showError = (error) => show('error', error.message);

/** Shows a reply while it comes. The browser remembers its id, for a reload. */
async function showReply(stream) {
  reply = stream;
  isBusy = true;
  send.hidden = true;
  stop.hidden = false;
  try {
    let line;
    for await (const { type, response_id, step, delta } of stream) {
      if (type === 'response.created') localStorage.setItem(`reply-${chatId}`, response_id);
      if (type === 'response.reasoning_step.start') {
        show('step', step.content);
        line = undefined;
      }
      if (type === 'response.output_text.delta') {
        line ??= show('reply');
        line.textContent += delta;
      }
    }
  } catch (error) {
    showError(error);
  }
  localStorage.removeItem(`reply-${chatId}`);
  isBusy = false;
  send.hidden = false;
  stop.hidden = true;
}

async function showHistory() {
  messages.replaceChildren();
  let newest;
  for await (newest of client.messages.list(chatId, { limit: 100 })) {
    for (const { content } of newest.meta.reasoning_steps ?? []) show('step', content);
    show(newest.role === 'user' ? 'user' : 'reply', newest.content);
    if (newest.meta.error) showError(newest.meta.error);
  }
  // A message without a reply: the reply is in progress.
  isBusy = newest?.role === 'user';
  if (!isBusy) return;
  const response_id = localStorage.getItem(`reply-${chatId}`);
  if (response_id !== null) return await showReply(client.messages.resume(chatId, { response_id }));
  // The message was sent elsewhere, or the page was left before the first event.
  show('step', 'The reply is in progress …');
  setTimeout(() => showHistory().catch(showError), 2000);
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const message = text.value;
  if (isBusy || message.trim() === '') return;
  isBusy = true;
  text.value = '';
  const line = show('user', message);
  let stream;
  try {
    chatId ??= (await client.chats.create({ name: 'Chat' })).id;
    history.replaceState(null, '', `?chat=${chatId}`);
    stream = client.messages.stream(chatId, { message, resumable: true });
    await showReply(stream);
  } catch (error) {
    showError(error);
  }
  isBusy = false;
  if (stream?.responseId !== undefined) return;
  // The service has rejected the message, and has not stored it.
  line.remove();
  text.value ||= message;
});

text.addEventListener('keydown', (event) => {
  // Shift+Enter is a new line, and Enter may choose a word of an input method.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

stop.addEventListener('click', () => reply.stop().catch(showError));

if (chatId !== undefined) showHistory().catch(showError);
