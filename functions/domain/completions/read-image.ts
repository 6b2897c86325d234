import { invalidParameter } from '#contract/openai/error.ts';
import type { ImageInspector } from './image-inspector.ts';

/** Amazon Bedrock's limits for an image, the smallest of all providers. Images of uploads are made smaller instead. */
const maxBytes = 3.75 * 1024 * 1024;
const maxSide = 8000;

const mediaTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Some clients name the type by the usual ending of a file. */
const otherNames: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

const upload = 'upload the file, and send its message to a chat';

/**
 * Reads an image from a `data:` URL. The model gets its bytes unchanged.
 * @param param the parameter with the URL, for errors
 */
export async function readImage(
  { inspect }: ImageInspector,
  url: string,
  param: string,
): Promise<{ type: 'image'; mediaType: string; bytes: Uint8Array }> {
  const [, given, text] = /^data:([^;,]*)(?:;[^,]*)?;base64,([A-Za-z0-9+/]+={0,2})$/i.exec(url) ?? [];
  if (given === undefined || text === undefined)
    throw invalidParameter(
      param,
      `must be a data: URL with base64, because no address is fetched; or ${upload}`,
    );
  const lowered = given.toLowerCase();
  const declared = otherNames[lowered] ?? lowered;
  if (!mediaTypes.includes(declared))
    throw invalidParameter(param, `must have one of the types ${mediaTypes.join(', ')}; or ${upload}`);
  const bytes = Buffer.from(text, 'base64');
  const found = await inspect(bytes);
  if (found?.mediaType !== declared || Math.min(found.width, found.height) < 1)
    throw invalidParameter(param, `does not contain an image of the type ${declared}`);
  if (bytes.length > maxBytes || Math.max(found.width, found.height) > maxSide)
    throw invalidParameter(
      param,
      `has ${bytes.length} bytes and ${found.width} by ${found.height} pixels: models take at most ${maxBytes} bytes and ${maxSide} pixels a side; or ${upload}`,
    );
  return { type: 'image', mediaType: declared, bytes };
}
