import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport } from 'ai';
import { useState } from 'react';

const transport = new DefaultChatTransport({ api: '/api/chat' });

export function Chat() {
  const [text, setText] = useState('');
  const [title, setTitle] = useState('New chat');
  // The title may come after the text of the first reply.
  const onData = ({ type, data }) => type === 'data-chat-title' && setTitle(data.name);
  const { messages, sendMessage, status, stop, error } = useChat({ transport, onData });
  const send = (event) => {
    event.preventDefault();
    sendMessage({ text });
    setText('');
  };
  return (
    <main>
      <h1>{title}</h1>
      {messages.map(({ id, role, parts }) => (
        <article key={id} data-role={role}>
          {parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        {status === 'ready' || status === 'error' ? (
          <button type="submit">Send</button>
        ) : (
          <button type="button" onClick={stop}>
            Stop
          </button>
        )}
      </form>
    </main>
  );
}

function Part({ part }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type !== 'data-agent-step') return null;
  const { content, ended_at } = part.data;
  return (
    <p className="step">
      {content} {ended_at === null ? '…' : '✓'}
    </p>
  );
}
