/** @import { Token } from 'markdown-it' */

import MarkdownIt from '/markdown-it.js';
import { copyButton, fill, html, onceAFrame } from './dom.js';

/** The maximum of characters that a frame parses and draws, except of a code block or a JSON text. */
const segmentCharacters = 10_000;
/** The same for a code block, which is fast to parse. A longer code block continues in another one. */
const codeCharacters = 200_000;
/**
 * Drawing in a frame is followed by a pause of at least three times its duration, so that the page responds while a
 * long list or table arrives.
 */
const restFactor = 3;

const isWebAddress = (/** @type {string} */ address) => /^https?:\/\//i.test(address);

// Without the option `html`, tags are text. What the parser finds becomes elements one by one, so that no text of a
// model is read as HTML.
const parser = new MarkdownIt({ breaks: true, linkify: true });
// Links without http or https, also relative ones, stay text.
parser.validateLink = isWebAddress;
parser.linkify.set({ fuzzyEmail: false, fuzzyLink: false });

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function markdownOf(text) {
  const markdown = new Markdown();
  markdown.complete(text);
  return markdown.node;
}

/**
 * A text that is a JSON object or list, indented; undefined for other texts.
 *
 * @param {string} text
 * @returns {string | undefined}
 */
function indentedJson(text) {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined;
  }
}

/** A text in Markdown, which may grow. While it grows, only its last block is drawn again. */
export class Markdown {
  #text = '';
  /** The number of characters that are not drawn again while the text grows. */
  #drawn = 0;
  /** The first lines of a block that continues after a cut, such as the head of a table. */
  #opening = '';
  /** The elements of the last block. @type {Element[]} */
  #last = [];
  /** The element of the segment that is being drawn. */
  #segment = html.div({ class: 'segment' });
  #segmentStart = 0;
  #restUntil = 0;
  #isJson = false;
  #draw = onceAFrame(() => {
    const startedAt = performance.now();
    if (startedAt < this.#restUntil || this.#drawSegment()) this.#draw();
    const endedAt = performance.now();
    this.#restUntil = Math.max(this.#restUntil, endedAt + (endedAt - startedAt) * restFactor);
  });
  node = html.div({ class: 'text markdown' }, this.#segment);

  get text() {
    return this.#text;
  }

  /** @param {string} text */
  append(text) {
    this.#text += text;
    this.#draw();
  }

  /** @param {string} text */
  complete(text) {
    const json = indentedJson(text);
    if (json !== undefined) {
      this.#text = text;
      this.#isJson = true;
      fill(this.node, html.pre({}, html.code({}, json)));
      return;
    }
    // Everything is drawn again if the text is another one, or if it defines a link: the definition may follow the
    // links that use it.
    if (text !== this.#text || /^ {0,3}\[.+\]:/m.test(text)) {
      this.#drawn = 0;
      this.#opening = '';
      this.#last = [];
      this.#startSegment();
      fill(this.node, this.#segment);
    }
    this.#text = text;
    if (this.#drawn === 0 && this.#drawSegment()) this.#draw();
  }

  /** @returns {boolean} whether there is more to draw */
  #drawSegment() {
    if (this.#isJson) return false;
    if (this.#drawn - this.#segmentStart > segmentCharacters) {
      for (const node of this.#last) node.remove();
      this.#startSegment();
      this.node.append(this.#segment);
    }
    const { source, isCut } = this.#nextSource();
    const tokens = parser.parse(source, {});
    const last = tokens.findLastIndex(({ level, nesting }) => level === 0 && nesting >= 0);
    for (const node of this.#last) node.remove();
    if (isCut && last <= 0) {
      // The source is one block, or a part of it. It is not drawn again.
      this.#append(tokens);
      this.#last = [];
      this.#drawn += source.length - this.#opening.length;
      this.#opening = openingOf(tokens[last], source);
      return true;
    }
    if (last > 0) {
      this.#append(tokens.slice(0, last));
      this.#drawn += startOf(tokens[last], source) - this.#opening.length;
      this.#opening = '';
    }
    this.#last = this.#append(tokens.slice(Math.max(last, 0)));
    return isCut;
  }

  /**
   * @param {Token[]} tokens
   * @returns {Element[]} the new elements
   */
  #append(tokens) {
    const blocks = build(tokens);
    const added = [...blocks.children];
    for (const block of added) if (block instanceof HTMLElement) block.dir ||= 'auto';
    this.#segment.append(blocks);
    return added;
  }

  #startSegment() {
    this.#segment = html.div({ class: 'segment' });
    this.#segmentStart = this.#drawn;
  }

  #nextSource() {
    const rest = this.#text.slice(this.#drawn, this.#drawn + codeCharacters);
    const [, fence] = /^ {0,3}(```|~~~)/.exec(this.#opening || rest) ?? [];
    const end = fence === undefined ? 0 : rest.indexOf(`\n${fence}`);
    const most = end < 0 ? codeCharacters : Math.max(end, segmentCharacters);
    const isCut = this.#text.length - this.#drawn > most;
    return { source: this.#opening + (isCut ? upToBreak(rest.slice(0, most)) : rest), isCut };
  }
}

/**
 * The text up to its last line break, else up to its last space.
 *
 * @param {string} text
 */
function upToBreak(text) {
  const line = text.search(/\n\S[^\n]*$/);
  const end = [line, text.lastIndexOf('\n'), text.lastIndexOf(' ')].find((index) => index > 0);
  return end === undefined ? text : text.slice(0, end + 1);
}

/**
 * @param {Token | undefined} block
 * @param {string} source
 * @returns {number} the index of its first character
 */
function startOf(block, source) {
  let line = block?.map?.[0] ?? 0;
  const breaks = /\r\n?|\n/g;
  for (; line > 0 && breaks.test(source); line -= 1);
  return breaks.lastIndex;
}

/**
 * The lines with which a block starts, and with which its next part starts too: the fence of code or the head of a
 * table. Empty for any other block.
 *
 * @param {Token | undefined} block
 * @param {string} source
 */
function openingOf(block, source) {
  const lines = block?.type === 'fence' ? 1 : block?.type === 'table_open' ? 2 : 0;
  const text = source.slice(startOf(block, source));
  return text
    .split('\n', lines)
    .map((line) => `${line}\n`)
    .join('');
}

/**
 * @param {Token[]} tokens
 * @returns {DocumentFragment}
 */
function build(tokens) {
  const root = document.createDocumentFragment();
  /** @type {ParentNode[]} */
  const open = [root];
  for (const token of tokens) {
    const parent = open.at(-1) ?? root;
    if (token.nesting < 0) open.pop();
    // The paragraph of an item in a list without blank lines gets no element.
    else if (token.hidden) open.push(parent);
    else open.push(...add(parent, token));
  }
  return root;
}

/**
 * @param {ParentNode} parent
 * @param {Token} token
 * @returns {ParentNode[]} the element that the next tokens fill, if the token opens one
 */
function add(parent, token) {
  const node = nodeOf(token);
  parent.append(node);
  if (token.nesting === 0 || !(node instanceof Element)) return [];
  return [node.querySelector('table') ?? node];
}

/**
 * @param {Token} token
 * @returns {Node}
 */
function nodeOf(token) {
  const { type, tag, content, children } = token;
  switch (type) {
    case 'inline':
      return build(children ?? []);
    case 'softbreak':
    case 'hardbreak':
      return html.br();
    case 'code_inline':
      return html.code({ dir: 'ltr' }, content);
    case 'fence':
    case 'code_block':
      return codeBlock(content, token.info);
    case 'link_open':
      return link(attribute(token, 'href'));
    case 'image':
      // A picture would send a request to an address that the model chooses.
      return link(attribute(token, 'src'), content);
    case 'table_open':
      return html.div({ class: 'table', tabindex: 0, role: 'group', 'aria-label': 'Table' }, html.table());
    case 'heading_open':
      // Headings are one level lower, down to h6, because the page has its own heading.
      return html[/** @type {'h2'} */ (`h${Math.min(Number(tag[1]) + 1, 6)}`)]();
    case 'ordered_list_open':
      return html.ol({ start: attribute(token, 'start') || undefined });
    case 'th_open':
    case 'td_open':
      return html[/** @type {'th'} */ (tag)]({
        'data-align': attribute(token, 'style').replace('text-align:', ''),
      });
    default:
      return tag === '' ? new Text(content) : html[/** @type {'p'} */ (tag)]();
  }
}

/**
 * @param {Token} token
 * @param {string} name
 */
const attribute = (token, name) => String(token.attrGet(name) ?? '');

/**
 * @param {string} address
 * @param {string} [text]
 */
const link = (address, text) =>
  html.a(
    { href: address, target: '_blank', rel: 'noopener noreferrer nofollow' },
    text === '' ? address : text,
  );

/**
 * @param {string} content
 * @param {string} info
 */
function codeBlock(content, info) {
  const [language = ''] = info.trim().split(/\s/);
  const label = language === '' ? 'Code' : `Code, ${language}`;
  const copy = copyButton(() => content, 'Copy code');
  return html.div(
    { class: 'code', dir: 'ltr' },
    html.p({ class: 'code-head' }, html.span(language), copy),
    html.pre({ tabindex: 0, role: 'group', 'aria-label': label }, html.code(content)),
  );
}
