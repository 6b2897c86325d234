import { join } from 'node:path';
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  paginateScan,
} from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { clientOf } from '#support/client.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { operatorAt } from '#support/data-table.ts';
import { createTenant, type Service, startService } from '#support/service.ts';
import { contentsOf, createChat, historyOf, send } from '#support/turns.ts';
import { synthesize } from '../../bin/local/synthesize.ts';

const folder = await temporaryFolder('restored-table-');
const restoredTable = 'agent-service-restored';

/** Copies the table of a running service, as a restore to this moment does. The copy has no time to live. */
async function restoreTable({ run }: Service): Promise<void> {
  const client = new DynamoDBClient(operatorAt(run.endpoints.dynamodb));
  const TableName = run.outputs.DataTableName ?? '';
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  await client.send(
    new CreateTableCommand({
      TableName: restoredTable,
      AttributeDefinitions: Table?.AttributeDefinitions,
      KeySchema: Table?.KeySchema,
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
  // At most 25 items, as a batch write takes.
  for await (const { Items = [] } of paginateScan({ client, pageSize: 25 }, { TableName }))
    if (Items.length > 0)
      await client.send(
        new BatchWriteItemCommand({
          RequestItems: { [restoredTable]: Items.map((Item) => ({ PutRequest: { Item } })) },
        }),
      );
  client.destroy();
}

it('a stage that names a restored table serves what was there at its time, and goes on with it', async () => {
  const dataDir = join(folder, 'data');
  const before = await startService({ dataDir });
  const tenant = await createTenant({ titles: false });
  const first = clientOf(before, tenant);
  const chatId = await createChat(first, tenant);
  await send(first, tenant, chatId, 'Before the restore');
  await restoreTable(before);
  await send(first, tenant, chatId, 'Lost');
  const lostChat = await createChat(first, tenant);
  await before.close();

  const assembly = join(folder, 'assembly');
  await synthesize(assembly, { restoredTable });
  const after = await startService({ dataDir, assembly });
  const second = clientOf(after, tenant);
  expect(after.run.outputs.DataTableName).toBe(restoredTable);
  expect((await second.get(`/chats/${lostChat}`)).status).toBe(404);
  await send(second, tenant, chatId, 'After the restore');
  const contents = contentsOf(await historyOf(second, chatId));
  expect(contents.filter((_, index) => index % 2 === 0)).toEqual(['Before the restore', 'After the restore']);
  // The number of chats is that of the restored table, so ids of lost chats are given again.
  expect(await createChat(second, tenant)).toBe(lostChat);
  await after.close();

  const old = await startService({ dataDir });
  const third = clientOf(old, tenant);
  const untouched = contentsOf(await historyOf(third, chatId));
  expect(untouched.filter((_, index) => index % 2 === 0)).toEqual(['Before the restore', 'Lost']);
  await old.close();
});
