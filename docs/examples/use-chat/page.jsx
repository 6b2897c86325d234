'use client';

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { memo, useEffect, useRef, useState } from 'react';
import { MarkdownText } from './markdown-text.jsx';

/** The address of the page names the chat, so a reload and a bookmark find it. A new chat has no number yet. */
const chatOfAddress = () => new URLSearchParams(location.search).get('chat');
const pathOf = (path, parameters) =>
  `${path}?${new URLSearchParams({ chat: chatOfAddress(), ...parameters })}`;
/** Where this browser remembers which reply of the chat is in progress. */
const replyKey = () => `reply-of-chat-${chatOfAddress()}`;

async function call(method, path, body) {
  const response = await fetch(path, { method, body });
  if (!response.ok) throw new Error(await response.text());
  return response.status === 204 ? undefined : await response.json();
}
const readChat = () => call('GET', pathOf('/api/chat'));

const transport = new DefaultChatTransport({
  async prepareSendMessagesRequest({ messages }) {
    if (chatOfAddress() === null) {
      const { id } = await call('POST', '/api/chats');
      history.replaceState(null, '', `?chat=${id}`);
    }
    // The service has the messages before it.
    return { api: pathOf('/api/chat'), body: { message: messages.at(-1) } };
  },
  prepareReconnectToStreamRequest() {
    const response = localStorage.getItem(replyKey());
    return { api: pathOf('/api/chat/stream', response === null ? {} : { response }) };
  },
});

export function Page() {
  const [chat, setChat] = useState();
  const [error, setError] = useState();
  useEffect(() => {
    if (chatOfAddress() === null) setChat({ name: 'New chat', messages: [] });
    else readChat().then(setChat, setError);
  }, []);
  if (chat !== undefined) return <Chat {...chat} />;
  return error === undefined ? <p>Loading …</p> : <p role="alert">{error.message}</p>;
}

function Chat({ name, messages: stored }) {
  const [title, setTitle] = useState(name);
  const [draft, setDraft] = useState({ text: '', files: [] });
  const [uploads, setUploads] = useState(0);
  const [problem, setProblem] = useState();
  const [isStopping, setStopping] = useState(false);
  const { messages, setMessages, sendMessage, resumeStream, status, error } = useChat({
    transport,
    messages: stored,
    // A message without a reply: the reply is in progress.
    resume: stored.at(-1)?.role === 'user',
    throttle: 50,
    // The title may come after the text of the first reply.
    onData: ({ type, data }) => type === 'data-chat-title' && setTitle(data.name),
    onError(reason) {
      // The connection is lost. The reply goes on at the service.
      const isLost = reason instanceof TypeError && localStorage.getItem(replyKey()) !== null;
      if (isLost) setTimeout(resumeStream, 2000);
    },
    onFinish: ({ isDisconnect }) => isDisconnect || localStorage.removeItem(replyKey()),
  });
  const isStreaming = status === 'submitted' || status === 'streaming';
  /** Its stream is unknown here: the message was sent elsewhere, or the page was left before the first event. */
  const isAwaited = !isStreaming && messages.at(-1)?.role === 'user';
  const isBusy = isStreaming || isAwaited;
  const response = isStreaming ? messages.at(-1)?.metadata?.responseId : undefined;

  useEffect(() => {
    if (response !== undefined) localStorage.setItem(replyKey(), response);
  }, [response]);

  useEffect(() => {
    if (!isAwaited) return;
    const read = () => readChat().then((chat) => setMessages(chat.messages), setProblem);
    const timer = setInterval(read, 2000);
    return () => clearInterval(timer);
  }, [isAwaited, setMessages]);

  // Stop ends the reply at the service, and then its stream ends by itself. It waits until there is something to stop.
  useEffect(() => {
    if (!isBusy) setStopping(false);
    else if (isStopping && (isAwaited || response !== undefined))
      call('DELETE', pathOf('/api/chat', response === undefined ? {} : { response })).catch((reason) => {
        setProblem(reason);
        setStopping(false);
      });
  }, [isBusy, isStopping, isAwaited, response]);

  async function send() {
    if (isBusy || uploads > 0 || draft.text.trim() === '') return;
    setProblem(undefined);
    setDraft({ text: '', files: [] });
    await sendMessage(draft);
    setMessages((list) => {
      if (list.at(-1)?.role !== 'user') return list;
      // The service has rejected the message, and has not stored it.
      setDraft(draft);
      return list.slice(0, -1);
    });
  }

  async function attach(chosen) {
    setProblem(undefined);
    setUploads((count) => count + chosen.length);
    for (const file of chosen) {
      const form = new FormData();
      form.append('file', file);
      await call('POST', '/api/files', form)
        .then((part) => setDraft(({ text, files }) => ({ text, files: [...files, part] })))
        .catch(({ message }) => setProblem(new Error(`${file.name}: ${message}`)));
      setUploads((count) => count - 1);
    }
  }

  return (
    <main>
      <h1>{title}</h1>
      <a href="?">New chat</a>
      <div role="log">
        {messages.map((message) => (
          <Message key={message.id} message={message} />
        ))}
      </div>
      {isAwaited && <p>The reply is in progress …</p>}
      {(problem ?? error) && <p role="alert">{(problem ?? error).message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <Files
          parts={draft.files}
          onRemove={(part) =>
            setDraft(({ text, files }) => ({ text, files: files.filter((file) => file !== part) }))
          }
        />
        <textarea
          aria-label="Message"
          dir="auto"
          value={draft.text}
          onChange={({ target }) => setDraft(({ files }) => ({ text: target.value, files }))}
          onKeyDown={(event) => {
            // Shift+Enter is a new line, and Enter may choose a word of an input method.
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            send();
          }}
        />
        <FileButton onChosen={attach} />
        {uploads > 0 && <span>Uploading …</span>}
        {/* Two buttons: if one became the other, React would reuse its element, and a click on Stop would send the form. */}
        <button type="submit" disabled={isBusy || uploads > 0}>
          Send
        </button>
        {isBusy && (
          <button type="button" disabled={isStopping} onClick={() => setStopping(true)}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}

function FileButton({ onChosen }) {
  const input = useRef(null);
  return (
    <input
      ref={input}
      type="file"
      multiple
      aria-label="Attach files"
      onChange={() => {
        onChosen([...input.current.files]);
        // The same file can be chosen again.
        input.current.value = '';
      }}
    />
  );
}

/** Only the message that grows is drawn again. */
const Message = memo(function Message({ message: { role, parts, metadata } }) {
  return (
    <article data-role={role}>
      <Files parts={parts.filter(({ type }) => type === 'file')} />
      {parts.map((part, index) => (
        <Part key={index} role={role} part={part} />
      ))}
      {metadata?.error && <p className="note">{metadata.error.message}</p>}
      {metadata?.incomplete === 'stopped' && <p className="note">Stopped</p>}
      {metadata?.incomplete === 'max_output_tokens' && <p className="note">The reply reached its limit</p>}
    </article>
  );
});

function Part({ role, part }) {
  if (part.type === 'data-agent-step') {
    const { content, ended_at } = part.data;
    return (
      <p className="step">
        {content} {ended_at === null ? '…' : '✓'}
      </p>
    );
  }
  if (part.type !== 'text') return null;
  if (role === 'assistant') return <MarkdownText text={part.text} />;
  return (
    <p dir="auto" style={{ whiteSpace: 'pre-wrap' }}>
      {part.text}
    </p>
  );
}

const Files = ({ parts, onRemove }) =>
  parts.length > 0 && (
    <ul>
      {parts.map((part) => (
        <li key={part.providerReference['chat-batch']}>
          <a href={part.url} target="_blank" rel="noreferrer">
            {part.filename}
          </a>{' '}
          {onRemove && (
            <button type="button" onClick={() => onRemove(part)}>
              Remove
            </button>
          )}
        </li>
      ))}
    </ul>
  );
