import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Command } from 'commander';
import { limits } from '#contract/limits.ts';
import {
  type AddedDocument,
  addDocuments,
  listDocuments,
  removeDocuments,
} from '#domain/knowledge/documents.ts';
import type { KnowledgeDocument } from '#domain/knowledge/knowledge.ts';
import { reasonOf } from '#local/data/state-file.ts';
import { clock, knowledge, textExtractor, workspaces } from '#runtime/composition/services.ts';
import { identifiers } from '#runtime/environment/invocation-context.ts';
import { UsageError } from '../failures.ts';
import { operation, type Result } from './report.ts';
import { tableWith } from './text-table.ts';

export function knowledgeCommands(): Command {
  const group = new Command('knowledge').description('Documents that the agents of a workspace can search.');
  operation(group, 'add', add)
    .description('add documents; a document replaces one of the same name')
    .requiredOption('--workspace <workspace>', 'whose agents')
    .option('--name <name>', 'the name of a single document; by default its file’s name')
    .argument('<files...>', '.pdf, .docx, .doc, .pptx, .html, .md, .csv, .txt');
  operation(group, 'list', list)
    .description('list the documents')
    .requiredOption('--workspace <workspace>', 'whose agents');
  operation(group, 'remove <documents...>', remove)
    .description('remove documents, by id or by name')
    .requiredOption('--workspace <workspace>', 'whose agents');
  return group;
}

interface Options {
  workspace: string;
  name?: string;
}

const services = () => ({
  clock,
  identifiers,
  knowledge: knowledge(),
  textExtractor: textExtractor(),
  workspaces: workspaces(),
});

async function add(files: string[], { workspace, name }: Options): Promise<Result> {
  if (name !== undefined && files.length > 1)
    throw new UsageError(`--name is for one file: ${files.length} were given`);
  const documents = files.map((file) => ({
    name: name ?? basename(file),
    file,
    read: () => readDocument(file),
  }));
  const added = await addDocuments(services(), { workspaceId: workspace, documents });
  return {
    json: { documents: added.map(({ document, ...rest }) => ({ ...jsonOf(document), ...rest })) },
    lines: linesOf(added),
  };
}

async function list({ workspace }: Options): Promise<Result> {
  const all = await listDocuments(services(), workspace);
  return { json: { documents: all.map(jsonOf) }, lines: tableOf(all, 'No documents') };
}

async function remove(documents: string[], { workspace }: Options): Promise<Result> {
  const removed = await removeDocuments(services(), { workspaceId: workspace, documents });
  return { json: { removed: removed.map(jsonOf) }, lines: ['Removed:', ...tableOf(removed)] };
}

const linesOf = (added: readonly AddedDocument[]): string[] => [
  ...addedTable(added.map(({ document, replaced }) => ({ ...document, replaced }))),
  ...added.flatMap(({ document, notices }) => notices.map((notice) => `${document.name}: ${notice}`)),
];

async function readDocument(file: string): Promise<Uint8Array> {
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new Error('it is a folder: name the files in it');
    if (found.size > limits.fileBytes)
      throw new Error(`it is larger than ${limits.fileBytes / 1024 / 1024} MB`);
    return await readFile(file);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${reasonOf(error)}`);
  }
}

const jsonOf = (document: KnowledgeDocument) => ({
  id: document.id,
  name: document.name,
  content_type: document.contentType,
  size: document.bytes,
  characters: document.characters,
  passages: document.passages,
  added_at: document.addedAt,
});

const columns = {
  document: ({ id }: KnowledgeDocument) => id,
  name: ({ name }: KnowledgeDocument) => name,
  type: ({ contentType }: KnowledgeDocument) => contentType,
  bytes: ({ bytes }: KnowledgeDocument) => bytes,
  passages: ({ passages }: KnowledgeDocument) => passages,
  added: ({ addedAt }: KnowledgeDocument) => addedAt,
};
const tableOf = tableWith<KnowledgeDocument>(columns);
const addedTable = tableWith<KnowledgeDocument & { replaced: boolean }>({
  ...columns,
  replaced: ({ replaced }) => (replaced ? 'yes' : 'no'),
});
