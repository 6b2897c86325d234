import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';

/** A reply of a model. `react-markdown` shows HTML as text. The rest is for what a model may have read somewhere. */
export const MarkdownText = ({ text }) => (
  <div dir="auto">
    <Markdown remarkPlugins={[remarkGfm]} urlTransform={webAddress} components={{ img: Picture, a: Link }}>
      {text}
    </Markdown>
  </div>
);

const webAddress = (address) => (/^https?:\/\//i.test(address) ? address : undefined);

/** The browser would request a picture at once, and its address could carry away what is in the chat. */
const Picture = ({ alt, src }) => alt || src;

const Link = ({ href, children }) =>
  href === undefined ? (
    children
  ) : (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
