import { existsSync } from 'node:fs';
import path from 'node:path';
import type { CreateTableCommandInput, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { registerKey } from '../kms/keys.ts';
import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import type { Listening } from '../wire/listen-on-loopback.ts';
import { chooseDynamoDb, thisPlatform } from './choose-dynamodb.ts';
import { serveWire } from './serve-wire.ts';
import { type Emulator, startDynoxide } from './start-dynoxide.ts';
import { retainedShapes, tableShape } from './table-shapes.ts';
import type { TableShape } from './touched-items.ts';

interface AccessProperties {
  readonly ResourcePolicy?: { readonly PolicyDocument: unknown };
  readonly SSESpecification?: { readonly KMSMasterKeyId?: string };
}

interface TableProperties
  extends AccessProperties,
    Pick<CreateTableCommandInput, 'AttributeDefinitions' | 'KeySchema' | 'GlobalSecondaryIndexes'> {
  readonly TimeToLiveSpecification?: { readonly AttributeName?: string; readonly Enabled?: boolean };
  readonly Replicas?: readonly (AccessProperties & { readonly Region?: string })[];
}

const databaseFileOf = ({ dataDir }: RunOptions): string => path.join(dataDir, 'dynamodb.sqlite');

/** A table that exists already is not changed. */
export const tables: ResourceKind = {
  types: ['AWS::DynamoDB::Table', 'AWS::DynamoDB::GlobalTable'],
  hasRetained: (options) =>
    process.env.AWS_ENDPOINT_URL_DYNAMODB !== undefined || existsSync(databaseFileOf(options)),

  async open(resources, context) {
    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'TableName');
    const arnOf = (resource: TemplateResource) => context.arnOf('dynamodb', `table/${nameOf(resource)}`);

    const emulator = await startEmulator(context);
    const shapes = new Map(
      resources.map((resource) => [nameOf(resource), tableShape(context.read<TableProperties>(resource))]),
    );
    try {
      const client = await openClient(emulator, context);
      await createTables(client, resources, context);
      for (const [name, shape] of await retainedShapes(client, shapes)) shapes.set(name, shape);
      client.destroy();
    } catch (error) {
      await emulator.close();
      throw error;
    }
    const wire = await startWire(emulator, shapes, context);
    context.endpoints.dynamodb = wire.endpoint;
    return {
      ref: nameOf,
      attribute: (resource, name) => ({ Arn: arnOf(resource), TableId: nameOf(resource) })[name],
      environmentFor: () => ({ AWS_ENDPOINT_URL_DYNAMODB: wire.endpoint }),
      async start() {
        for (const resource of resources) registerAccess(resource, arnOf(resource), context);
      },
      async close() {
        await wire.close();
        await emulator.close();
      },
    };
  },
};

function registerAccess(resource: TemplateResource, arn: string, context: RunContext): void {
  const table = context.read<TableProperties>(resource);
  const replica = table.Replicas?.find(({ Region }) => Region === context.region);
  const policy = table.ResourcePolicy ?? replica?.ResourcePolicy;
  if (policy) context.access.attachPolicy(arn, policy.PolicyDocument, resource.logicalId);
  const specification = replica?.SSESpecification ?? table.SSESpecification;
  registerKey(context, arn, specification?.KMSMasterKeyId);
}

async function startWire(
  { endpoint: emulator, isEmbedded }: Emulator,
  shapes: ReadonlyMap<string, TableShape>,
  context: RunContext,
): Promise<Listening> {
  const { faults, recordCalls } = context.options;
  const wire = await serveWire({
    emulator,
    shapes,
    faults: faults ?? {},
    record: recordCalls ? (call) => context.dynamoCalls.push(call) : undefined,
    access: context.access,
    onOperatorWrite() {
      for (const call of context.onOperatorWrite) call();
    },
    isFunction: (name) =>
      [...context.functions.values(), ...context.webFunctions.values()].some(
        ({ functionName }) => functionName === name,
      ),
  });
  if (isEmbedded && !recordCalls && Object.keys(faults ?? {}).length === 0)
    context.emulatorRoute = { wire: wire.endpoint, emulator, shapes };
  return wire;
}

async function startEmulator({ options }: RunContext): Promise<Emulator> {
  const choice = await chooseDynamoDb(options.platform ?? thisPlatform);
  if ('endpoint' in choice) return { ...choice, isEmbedded: false, close: async () => {} };
  return await startDynoxide(choice.program, databaseFileOf(options));
}

async function openClient({ endpoint }: Emulator, { region }: RunContext): Promise<DynamoDBClient> {
  // Deferred, because loading the SDK takes long.
  const sdk = await import('@aws-sdk/client-dynamodb');
  // The access key that `withEmulatorCredential` sets.
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new sdk.DynamoDBClient({ endpoint, region, credentials });
}

async function createTables(
  client: DynamoDBClient,
  resources: readonly TemplateResource[],
  context: RunContext,
): Promise<void> {
  const { CreateTableCommand, UpdateTimeToLiveCommand } = await import('@aws-sdk/client-dynamodb');
  const create = async (resource: TemplateResource): Promise<void> => {
    const TableName = context.nameOf(resource, 'TableName');
    const properties = context.read<TableProperties>(resource);
    try {
      await client.send(new CreateTableCommand(tableInput(TableName, properties)));
    } catch (error) {
      if ((error as Error).name === 'ResourceInUseException') return;
      reject(resource, (error as Error).message);
    }
    const { AttributeName, Enabled } = properties.TimeToLiveSpecification ?? {};
    if (!AttributeName || Enabled === false) return;
    await client.send(
      new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName, Enabled: true } }),
    );
  };
  await Promise.all(resources.map(create));
}

function tableInput(TableName: string, properties: TableProperties): CreateTableCommandInput {
  const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes } = properties;
  return {
    TableName,
    AttributeDefinitions,
    KeySchema,
    BillingMode: 'PAY_PER_REQUEST',
    // Capacity and warm throughput are left out: they have no effect on one machine.
    GlobalSecondaryIndexes: GlobalSecondaryIndexes?.map(({ IndexName, KeySchema: keys, Projection }) => ({
      IndexName,
      KeySchema: keys,
      Projection,
    })),
  };
}
