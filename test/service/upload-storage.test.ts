import { expect, it } from 'vitest';
import { openTenant } from '#support/open-tenant.ts';
import { filePart, form, uploaderOf } from '#support/upload.ts';
import { useService } from '#support/use-service.ts';

// Nothing listens on this port.
const service = await useService({ variables: { AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9' } });
const tenant = await openTenant(service);

it('that fails is told as an error of the service, with the file', async () => {
  const { status, body, headers } = await uploaderOf(service, tenant).raw(form(filePart('a.txt', 'x')));
  const message = `Internal server error, request id ${headers.get('x-request-id')}`;
  const data = {
    ...{ original_name: 'a.txt', content_type: 'text/plain', size: 1 },
    ...{ scope: 'persistent', error_msg: message },
  };
  expect({ status, body }).toEqual({ status: 500, body: { data, message, error_code: 10005 } });
});

it('that fails half way is told when the body has been read to its end', async () => {
  const { status, body } = await uploaderOf(service, tenant).large(50 * 1024 * 1024);
  expect({ status, code: body.error_code }).toEqual({ status: 500, code: 10005 });
});
