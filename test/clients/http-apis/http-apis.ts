import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importOpenApi } from '../../../bin/agentctl/openapi/import-openapi.ts';
import { remoteHttp } from '../../../functions/adapters/outbound/remote-http.ts';
import { type Offer, ReplyScope } from '../../../functions/agents/tools/agent-tool.ts';
import { httpApi } from '../../../functions/agents/tools/kinds/http-api.ts';
import type { HttpTool } from '../../../functions/contract/http-api.ts';
import { startProgram } from '../../support/command.ts';
import { agentVersion } from '../../support/frozen/entities.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import type { Tools } from '../languages.ts';

/** Documents of the package, with the number of their operations that become tools. */
const documents = {
  '3.1/json/train-travel.json': 7,
  '3.0/json/uspto.json': 3,
  '3.0/json/petstore.json': 19,
};

/** Of each operation, with arguments that fit, and as many with others. */
const calls = 20;

interface Faker {
  option(options: object): void;
  generate(schema: object): Record<string, unknown>;
}

/**
 * Calls each operation of real documents on Prism, which checks every request by the document (`--errors`): arguments that
 * fit the tool are never rejected there, and others are not sent.
 * @param chosen documents; by default all
 */
export async function testHttpApis(
  { work, run }: Tools,
  chosen = Object.keys(documents),
): Promise<undefined> {
  const folder = join(work, 'http-apis');
  run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--no-package-lock'],
    { folder },
  );
  const module = await import(join(folder, 'node_modules/json-schema-faker/dist/main.mjs'));
  const faker = module.default as Faker;
  const seed = Number(process.env.SEED ?? Date.now() % 1e9);
  console.log(`http-apis: SEED=${seed}`);
  const random = seededRandom(seed);
  faker.option({ random, failOnInvalidFormat: false, fillProperties: false });
  for (const [document, count] of Object.entries(documents)) {
    if (!chosen.includes(document)) continue;
    const path = join(folder, 'node_modules/@readme/oas-examples', document);
    const prism = startProgram([
      ...[process.execPath, join(folder, 'node_modules/.bin/prism'), 'mock', '--errors'],
      ...['--host', '127.0.0.1', '--port', '0', path],
    ]);
    try {
      await prism.printed('Prism is listening on');
      const [url = ''] = /http:\/\/127\.0\.0\.1:\d+(?=\/)/.exec(prism.output()) ?? [];
      const text = readFileSync(path, 'utf8');
      const { changes } = await importOpenApi(text, url, { name: 'x' });
      const tools = changes.flatMap(({ after }) => after ?? []);
      assert.equal(tools.length, count, document);
      const api = openApi(url, tools);
      for (const [index, offer] of api.offers.entries()) {
        const schema = tools[index]?.input_schema ?? {};
        let used = 0;
        // The generator does not know all keywords, so some of what it makes does not fit.
        for (let made = 0; made < calls * 20 && used < calls; made += 1) {
          faker.option({ alwaysFakeOptionals: made % 2 === 0 });
          const args = faker.generate(schema);
          if (offer.read(args).problem !== undefined) continue;
          used += 1;
          await useOperation(offer, args, random, api.sent);
        }
        assert.equal(used, calls, offer.name);
      }
      prism.child.kill('SIGTERM');
      const { stdout } = await prism.ended;
      // The status of a rejection is one that the document describes.
      const valid = stdout.match(/The request passed the validation rules/g) ?? [];
      const invalid = /^.*did not pass the validation rules[\s\S]{0,500}/m.exec(stdout)?.[0];
      assert.equal(valid.length, api.sent(), `${document}: ${invalid}`);
      console.log(`http-apis: ${document}: ${count} operations, ${valid.length} valid requests`);
    } finally {
      prism.child.kill('SIGTERM');
    }
  }
}

/** The offers of an entry for this address, and how many requests they have sent. */
function openApi(url: string, tools: readonly HttpTool[]) {
  const { port } = new URL(url);
  let sent = 0;
  const http = remoteHttp({
    rules: { allow: [{ host: '127.0.0.1', port: Number(port) }], denied: [], resolve: async () => [] },
    credentialOf: async () => ({
      ...{ headers: { Authorization: 'Bearer token', api_key: 'key' }, query: {}, secrets: [] },
      forget: () => undefined,
    }),
    depth: () => 0,
  });
  const kind = httpApi({
    http: {
      ...http,
      send(...request) {
        sent += 1;
        return http.send(...request);
      },
    },
    countUse: () => () => () => undefined,
    checkTarget: async () => undefined,
  });
  const config = kind.config.parse({ base_url: url, tools });
  return { offers: kind.offers(config, {}), sent: () => sent };
}

/** Values that few parameters accept. */
const wrongValues = [null, {}, [[]], true, -1.5, 'x'.repeat(5000)];

/** Uses an operation with arguments that fit, and with others. @throws Error if the server rejects what fits, or gets others */
async function useOperation(
  offer: Offer,
  args: Record<string, unknown>,
  random: () => number,
  sent: () => number,
): Promise<void> {
  const scope = new ReplyScope();
  const use = { chat: null, agents: [agentVersion], scope, signal: AbortSignal.timeout(10_000) } as never;
  const what = `${offer.name} ${JSON.stringify(args)}`;
  const failure = await offer.run(args, use).then(
    () => undefined,
    (error: Error) => error,
  );
  await scope.close();
  // A document may describe failures alone.
  if (failure !== undefined && !failure.message.startsWith('The server responded with status'))
    throw new Error(`${what}: ${failure.message}`, { cause: failure });

  const before = sent();
  const wrong = { ...args };
  const names = Object.keys(Object(offer.inputSchema.properties));
  const name = names[Math.floor(random() * names.length)] ?? 'further';
  wrong[name] = wrongValues[Math.floor(random() * wrongValues.length)];
  if (offer.read(wrong).problem === undefined) delete wrong[name];
  if (offer.read(wrong).problem === undefined) wrong.further = 1;
  assert.notEqual(offer.read(wrong).problem, undefined, `${offer.name} ${JSON.stringify(wrong)}`);
  assert.equal(sent(), before);
}
