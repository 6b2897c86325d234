/** The texts of a stream of events, each with its blank line; keep-alive comments are left out. */
export async function* textsOf(response: Response): AsyncGenerator<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split(/(?<=\n\n)/);
    text = blocks.at(-1)?.endsWith('\n\n') ? '' : (blocks.pop() ?? '');
    yield* blocks.filter((block) => !block.startsWith(':'));
  }
}
