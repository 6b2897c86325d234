import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SigningDigest } from '#adapters/dynamo/item-client/item-client.ts';

it('gives the signatures of the SDK, whatever is signed, with whose credentials and when', async () => {
  const given = fc.record({
    body: fc.string({ unit: 'grapheme' }),
    secretAccessKey: fc.constantFrom('one secret', 'another', 'ünd noch eins'),
    accessKeyId: fc.constantFrom('AKIA1', 'AKIA2'),
    signingDate: fc.date({ min: new Date('2026-01-01'), max: new Date('2026-01-03'), noInvalidDate: true }),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ body, signingDate, ...credentials }) => {
      const signed = async (sha256: typeof Sha256 | typeof SigningDigest) => {
        const signer = new SignatureV4({ service: 'dynamodb', region: 'eu-west-1', credentials, sha256 });
        const headers = { host: 'table.example', 'content-type': 'application/x-amz-json-1.0' };
        const request = new HttpRequest({
          method: 'POST',
          hostname: 'table.example',
          path: '/',
          headers,
          body,
        });
        return (await signer.sign(request, { signingDate })).headers;
      };
      expect(await signed(SigningDigest)).toEqual(await signed(Sha256));
    }),
  );
});

it('digests bytes wherever they lie in a buffer', async () => {
  const buffer = new TextEncoder().encode('not this: abc');
  for (const data of [buffer.subarray(10), buffer.buffer.slice(10), new DataView(buffer.buffer, 10), 'abc']) {
    const [plain, keyed, theirs] = [new SigningDigest(), new SigningDigest(data), new Sha256(data)];
    for (const digest of [plain, keyed]) digest.update(data);
    theirs.update(Buffer.from('abc'));
    // FIPS 180-4's example.
    expect(Buffer.from(await plain.digest()).toString('hex')).toMatch(/^ba7816bf/);
    expect(Buffer.from(await keyed.digest())).toEqual(Buffer.from(await theirs.digest()));
  }
  const used = new SigningDigest();
  used.update('a');
  expect(() => used.update('b')).toThrow('only one update');
});
