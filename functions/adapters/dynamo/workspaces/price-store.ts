import { keys } from '#adapters/dynamo/table/keys.ts';
import { ifStill, type Table } from '#adapters/dynamo/table/table.ts';
import { transactWithRetry } from '#adapters/dynamo/table/transact-with-retry.ts';
import { changesOf } from '#domain/workspaces/audit.ts';
import { inDollars, type PriceStore, type Prices } from '#domain/workspaces/usage.ts';
import type { Audit } from './api-key-store.ts';

/** Enough, because operators seldom change prices at the same time. */
const maxAttempts = 20;

/** All prices are in one item, which has space for thousands in its 400 KB. */
export function dynamoPriceStore(table: Table, audit: Audit): PriceStore {
  const read = async () => {
    const { revision, models = {} } = (await table.get(keys.operatorsPrices())) ?? {};
    return { revision: revision as number | undefined, models: models as Prices };
  };
  return {
    all: async () => (await read()).models,
    set: (model, from, price) =>
      transactWithRetry(table, {
        attempts: maxAttempts,
        async plan() {
          const { revision, models } = await read();
          const { [from]: before, ...others } = models[model] ?? {};
          const changed = { ...models, [model]: { ...others, [from]: price } };
          const Item = { ...keys.operatorsPrices(), revision: (revision ?? 0) + 1, models: changed };
          const changes = changesOf({ [from]: before && inDollars(before) }, { [from]: inDollars(price) });
          const put = { Put: { Item, ...ifStill({ revision }) } };
          return { writes: [put, ...audit('prices changed', null, model, changes)], result: undefined };
        },
      }),
  };
}
