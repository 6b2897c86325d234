import { readFile } from 'node:fs/promises';
import { reasonOf } from '#local/data/state-file.ts';

/** @throws Error that names the file */
export async function readJson(file: string): Promise<unknown> {
  const text = (await readInput(file)).toString();
  try {
    return JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${file} is not valid JSON: line ${await lineOf(text, message)}: ${inOneLine(message)}`);
  }
}

/** @throws Error that names the file */
export async function readInput(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`);
  }
}

/** A message may quote several lines of the text. */
const inOneLine = (message: string): string => message.replaceAll(/\s*\n\s*/g, ' ');

/** V8's messages name the line for some errors. */
async function lineOf(text: string, message: string): Promise<number> {
  const [, line] = /\(line (\d+) column/.exec(message) ?? [];
  if (line !== undefined) return Number(line);
  const bytes = Buffer.from(text);
  return bytes
    .subarray(0, (await errorPosition(text)) ?? bytes.length)
    .toString()
    .trimEnd()
    .split('\n').length;
}

/** In bytes, where another parser finds an error; undefined if it finds none. */
async function errorPosition(text: string): Promise<number | undefined> {
  const { Tokenizer } = await import('@streamparser/json');
  const tokenizer = new Tokenizer();
  tokenizer.onToken = () => {};
  let digits: string | undefined;
  tokenizer.onError = ({ message }) => {
    [, digits] = /absolute position "(\d+)"/.exec(message) ?? [];
  };
  tokenizer.write(text);
  return digits === undefined ? undefined : Number(digits);
}

/**
 * @returns null without a file
 * @throws Error that names the file
 */
export const readSchema = async (file: string | undefined) =>
  file === undefined ? null : ((await readJson(file)) as Record<string, unknown>);

export const formatOf = (schema: Record<string, unknown> | null) =>
  schema && { type: 'json_schema' as const, json_schema: { name: 'reply', schema } };
