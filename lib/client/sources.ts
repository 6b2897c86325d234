export interface Source {
  /** The type of the step that has found it first. */
  type: string;
  title?: string;
  /** The address of a page, or what a knowledge base names, such as `s3://…`. Make links of http and https alone. */
  url?: string;
  documentId?: string;
  /** The page or slide of the document. With `documentId`, it counts from 1. */
  page?: number;
}

/** From the history, a stream's `response.reasoning_step.end`, or `agent_steps` of a completion in OpenAI's form. */
export interface StepWithResult {
  type: string;
  result: { success: boolean; data?: unknown } | null;
}

/** Returns the sources that web searches, fetches of pages and searches in knowledge bases name, each once. */
export function sourcesOf(steps: Iterable<StepWithResult>): Source[] {
  const sources = new Map<string, Source>();
  for (const { type, result } of steps)
    for (const found of (result?.success && finders.get(type)?.(result.data as never)) || []) {
      const name = JSON.stringify([found.url ?? found.documentId, found.page]);
      if (!sources.has(name)) sources.set(name, { type, ...found });
    }
  return [...sources.values()];
}

type Found = Omit<Source, 'type'>;

/** `title` may be empty. */
type WebPage = Record<'url' | 'title', string>;

type Passage = { source: { page?: number } & ({ document_id: string; name: string } | { uri?: string }) };

const pageIn = ({ url, title }: WebPage): Found => ({ ...(title !== '' && { title }), url });

function documentIn({ source }: Passage): Found[] {
  const page = source.page === undefined ? {} : { page: source.page };
  if ('document_id' in source) return [{ title: source.name, documentId: source.document_id, ...page }];
  return source.uri === undefined ? [] : [{ url: source.uri, ...page }];
}

const finders = new Map<string, (data: never) => Found[]>([
  ['consultant_search_web', (pages: WebPage[]) => pages.map(pageIn)],
  ['consultant_fetch_web_content', (page: WebPage) => [pageIn(page)]],
  ['consultant_retrieve_context_source', (data: { results: Passage[] }) => data.results.flatMap(documentIn)],
]);
