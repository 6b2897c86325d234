import * as z from 'zod';
import { hostAndPort, hostAndPortForm } from '#contract/urls.ts';

export const internalAddresses = z
  .array(
    z.string().refine((text) => hostAndPort.safeParse(text).success, { error: `must be ${hostAndPortForm}` }),
  )
  .default([])
  .meta({ form: 'list of `HOST:PORT`' });
