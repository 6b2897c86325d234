import { createRequire } from 'node:module';
import path from 'node:path';
import { reasonOf } from '../data/state-file.ts';

export type DynamoDbChoice = { readonly endpoint: string } | { readonly program: string };

const startDynamoDbLocal =
  'Start DynamoDB Local: docker run --rm -p 127.0.0.1:8000:8000 amazon/dynamodb-local. Then set AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:8000';

/** @throws Error that says what to do, if it finds no DynamoDB */
export async function chooseDynamoDb(
  platform: Platform,
  endpoint = process.env.AWS_ENDPOINT_URL_DYNAMODB,
): Promise<DynamoDbChoice> {
  if (endpoint) {
    await checkEndpoint(endpoint);
    return { endpoint };
  }
  const { name, dynamoDbProgram: program } = platform;
  if (program !== undefined) return { program };
  throw new Error(`There is no embedded DynamoDB emulator for ${name}. ${startDynamoDbLocal}`);
}

/** Any response shows that a server is there, even the error for a missing signature. */
async function checkEndpoint(endpoint: string): Promise<void> {
  if (!URL.canParse(endpoint) || !/^https?:$/.test(new URL(endpoint).protocol))
    throw new Error(
      `AWS_ENDPOINT_URL_DYNAMODB must be an http address, such as http://127.0.0.1:8000: ${endpoint}`,
    );
  try {
    await (await fetch(endpoint)).body?.cancel();
  } catch (error) {
    const { cause = error } = error as Error;
    throw new Error(
      `No DynamoDB responds at ${endpoint}, which AWS_ENDPOINT_URL_DYNAMODB names (${reasonOf(cause)}). ${startDynamoDbLocal}`,
    );
  }
}

export interface Platform {
  readonly name: string;
  /**
   * Undefined if there is no emulator for this platform.
   * @throws Error if its package is not installed
   */
  readonly dynamoDbProgram: string | undefined;
}

/** Each has a package `@dynoxide/PLATFORM`, and `sh`, which starts the emulator. */
const platformsOfEmulator = ['linux-x64'];

export const platformOf = (name: string): Platform => ({
  name,
  get dynamoDbProgram() {
    return platformsOfEmulator.includes(name) ? programOf(`@dynoxide/${name}`) : undefined;
  },
});

export const thisPlatform = platformOf(`${process.platform}-${process.arch}`);

function programOf(packageName: string): string {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    return path.join(path.dirname(manifest), 'dynoxide');
  } catch {
    throw new Error(`The DynamoDB emulator ${packageName} is not installed: run npm ci`);
  }
}
