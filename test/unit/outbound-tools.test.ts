import { expect, it } from 'vitest';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { searchWeb } from '#agents/tools/search-web.ts';

const fetching = fetchWebContent(() => {
  throw new Error('not used');
});
const searching = searchWeb(() => null);

it.each([{ max_characters: 100_001 }, { max_characters: 0 }, { max_characters: '9' }, { links: true }])(
  'a fetch cannot be set to %j',
  (config) => {
    expect(fetching.config.safeParse(config).success).toBe(false);
  },
);

it.each([{ max_results: 11 }, { max_results: 0 }, { provider: 'other' }])(
  'a search cannot be set to %j',
  (config) => {
    expect(searching.config.safeParse(config).success).toBe(false);
  },
);

it('without settings both have their usual ones', () => {
  expect(fetching.config.parse({})).toEqual({ max_characters: 20_000 });
  expect(searching.config.parse({})).toEqual({ max_results: 5 });
});

it('the same config gives the same schema, which is then read once', () => {
  expect(searching.input({ max_results: 7 })).toBe(searching.input({ max_results: 7 }));
  expect(searching.input({ max_results: 7 })).not.toBe(searching.input({ max_results: 8 }));
});
