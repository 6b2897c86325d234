import { createRequire } from 'node:module';
import path from 'node:path';

/** What differs between the machines that a run may use. */
export interface Platform {
  /** The operating system and the processor, such as `linux-x64`. */
  readonly name: string;
  /** The program of the embedded DynamoDB emulator; undefined if there is none for this platform. */
  readonly dynamoDbProgram: string | undefined;
}

/** The platforms of the packages `@dynoxide/PLATFORM`. All of them have the shell that ends the emulator with its run. */
const platformsOfEmulator = ['linux-x64'];

export const platformOf = (name: string): Platform => ({
  name,
  get dynamoDbProgram() {
    return platformsOfEmulator.includes(name) ? programOf(`@dynoxide/${name}`) : undefined;
  },
});

export const thisPlatform = platformOf(`${process.platform}-${process.arch}`);

/** @throws Error if the package is not installed */
function programOf(packageName: string): string {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${packageName}/package.json`);
    return path.join(path.dirname(manifest), 'dynoxide');
  } catch {
    throw new Error(`The DynamoDB emulator ${packageName} is not installed: run npm ci`);
  }
}
