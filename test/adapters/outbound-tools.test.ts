import { expect, it } from 'vitest';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { searchWeb } from '#agents/tools/search-web.ts';

const fetching = fetchWebContent(() => {
  throw new Error('not used');
});
const searching = searchWeb(() => null);

it.each([
  ...['a b', '', 5],
  ...'https://a.example a.example:443 a.example/path user@a.example'.split(' '),
  ...'* *. *.*.example a.*.example *.127.0.0.1 *.[::1]'.split(' '),
])('a fetch cannot be bound to the host %j, which is named', (host) => {
  const { error } = fetching.config.safeParse({ allowed_hosts: ['good.example', host] });
  expect(error?.issues).toMatchObject([{ path: ['allowed_hosts', 1] }]);
});

it('a fetch is bound to 1 to 100 hosts, as URLs write them', () => {
  const parse = (allowed_hosts: unknown) => fetching.config.safeParse({ allowed_hosts });
  expect(parse([]).error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  expect(parse('a.example').error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  expect(parse(Array(100).fill('a.example')).success).toBe(true);
  expect(parse(Array(101).fill('a.example')).error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  const { data } = parse(['Docs.Example.COM.', '*.BÜCHER.example', '127.1', '[::1]']);
  expect(data?.allowed_hosts).toEqual(['docs.example.com', '*.xn--bcher-kva.example', '127.0.0.1', '[::1]']);
});

it('the same config gives the same schema, which is then read once', () => {
  expect(searching.input({ max_results: 7 })).toBe(searching.input({ max_results: 7 }));
  expect(searching.input({ max_results: 7 })).not.toBe(searching.input({ max_results: 8 }));
});
