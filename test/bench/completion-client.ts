import { eventReader, httpExchange } from './http-exchange.ts';
import type { LoadClient, Target, TimedReply } from './load-client.ts';

interface Message {
  role: 'user' | 'assistant';
  content: string;
}

interface Completion {
  choices: { delta: { content?: string }; message: { content: string } }[];
}

/** A client that sends messages as OpenAI's chat completions, with the conversation so far as its programs do. */
export function completionClientOf({
  baseUrl,
  apiKey,
  agentId,
}: Target): Pick<LoadClient, 'createChat' | 'streamReply' | 'sendPlain' | 'close'> {
  const { exchange, close } = httpExchange(`${baseUrl}/openai`, { Authorization: `Bearer ${apiKey}` });
  const conversations: Message[][] = [];
  const send = (chatId: number, message: string, stream: boolean, onText?: (text: string) => void) => {
    const messages = conversations[chatId] ?? [];
    messages.push({ role: 'user', content: message });
    const json = { model: agentId, messages, stream };
    return exchange('POST', '/chat/completions', { json, ...(onText !== undefined && { onText }) });
  };
  const remember = (chatId: number, reply: TimedReply): TimedReply => {
    conversations[chatId]?.push({ role: 'assistant', content: reply.text });
    return reply;
  };
  return {
    createChat: async () => conversations.push([]) - 1,

    async streamReply(chatId, message) {
      const reply = { text: '', firstByte: Number.NaN, firstDelta: Number.NaN };
      let isWhole = false;
      const read = eventReader((event) => {
        if (event === 'data: [DONE]') isWhole = true;
        else
          reply.text +=
            (JSON.parse(event.slice('data: '.length)) as Completion).choices[0]?.delta.content ?? '';
      });
      const start = performance.now();
      await send(chatId, message, true, (text) => {
        const now = performance.now() - start;
        if (Number.isNaN(reply.firstByte)) reply.firstByte = now;
        read(text);
        if (Number.isNaN(reply.firstDelta) && reply.text !== '') reply.firstDelta = now;
      });
      if (!isWhole) throw new Error(`The stream ended early, after ${JSON.stringify(reply.text)}`);
      return remember(chatId, { ...reply, closed: performance.now() - start });
    },

    async sendPlain(chatId, message) {
      const start = performance.now();
      const { choices } = JSON.parse(await send(chatId, message, false)) as Completion;
      const text = choices[0]?.message.content ?? '';
      const closed = performance.now() - start;
      return remember(chatId, { text, firstByte: Number.NaN, firstDelta: Number.NaN, closed });
    },

    close,
  };
}
