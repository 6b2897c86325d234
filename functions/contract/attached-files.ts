import * as z from 'zod';
import { uuid, withDefault } from './fields.ts';
import { limits } from './limits.ts';

export const attachedFileUuids = withDefault(
  z.array(uuid).max(limits.attachedFiles, { error: `must have at most ${limits.attachedFiles} elements` }),
  [],
);
