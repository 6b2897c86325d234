import { AwsJsonError } from '../wire/serve-aws-json.ts';
import { STATE_BYTES } from './invoke-function.ts';

/** @throws AwsJsonError with this name if the text is too long or not JSON */
export function readJson(text: unknown, errorName: string): unknown {
  if (typeof text !== 'string' || Buffer.byteLength(text) > STATE_BYTES) {
    throw new AwsJsonError(errorName, `${errorName}: at most ${STATE_BYTES} bytes of JSON text are allowed`);
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new AwsJsonError(errorName, `${errorName}: ${(error as Error).message}`);
  }
}
