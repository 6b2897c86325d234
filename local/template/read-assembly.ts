import path from 'node:path';
import { readState, UnreadableState } from '../data/state-file.ts';

export interface Template {
  readonly Resources?: Record<
    string,
    {
      readonly Type: string;
      readonly Properties?: Record<string, unknown>;
      readonly Condition?: string;
    }
  >;
  readonly Parameters?: Record<string, { readonly Type: string; readonly Default?: unknown }>;
  readonly Conditions?: Record<string, unknown>;
  readonly Outputs?: Record<string, { readonly Value: unknown; readonly Condition?: string }>;
}

export type Assembly = Awaited<ReturnType<typeof readAssembly>>;

interface Manifest {
  readonly artifacts?: Record<
    string,
    { type: string; properties?: { templateFile?: string; stackName?: string; file?: string } }
  >;
}

interface AssetManifest {
  readonly files?: Record<
    string,
    { source: { path: string }; destinations: Record<string, { objectKey: string }> }
  >;
}

async function readJson<T>(file: string): Promise<T> {
  const value = await readState(file, (text) => JSON.parse(text) as T);
  if (value === undefined) throw new UnreadableState(file, 'it does not exist');
  return value;
}

export async function readAssembly(directory: string) {
  let manifest: Manifest;
  try {
    manifest = await readJson<Manifest>(path.join(directory, 'manifest.json'));
  } catch {
    throw new Error(`${directory} is not a cloud assembly: it has no readable manifest.json`);
  }
  const artifacts = Object.entries(manifest.artifacts ?? {});
  const stacks = artifacts
    .filter(([, artifact]) => artifact.type === 'aws:cloudformation:stack')
    .map(([id, artifact]) => ({ name: artifact.properties?.stackName ?? id, ...artifact.properties }));
  const [stack] = stacks;
  if (!stack?.templateFile) throw new Error(`${directory} contains no stack`);
  if (stacks.length > 1)
    throw new Error(`${directory} contains several stacks: ${stacks.map(({ name }) => name).join(', ')}`);

  const assetFiles = artifacts.flatMap(([, artifact]) =>
    artifact.type === 'cdk:asset-manifest' && artifact.properties?.file ? [artifact.properties.file] : [],
  );
  const [template, ...assetManifests] = await Promise.all([
    readJson<Template>(path.join(directory, stack.templateFile)),
    ...assetFiles.map((file) => readJson<AssetManifest>(path.join(directory, file))),
  ]);
  const folders = new Map<string, string>();
  for (const { source, destinations } of assetManifests.flatMap(({ files = {} }) => Object.values(files)))
    for (const { objectKey } of Object.values(destinations))
      folders.set(objectKey, path.resolve(directory, source.path));
  return {
    stackName: stack.name,
    template,
    assetFolder(objectKey: string): string {
      const folder = folders.get(objectKey);
      if (!folder) throw new Error(`The assembly has no asset with the key ${objectKey}`);
      return folder;
    },
  };
}
