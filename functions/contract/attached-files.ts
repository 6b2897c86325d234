import * as z from 'zod';
import { uuid } from './fields.ts';
import { limits } from './limits.ts';

export const attachedFileUuids = z
  .array(uuid)
  .max(limits.attachedFiles, { error: `must have at most ${limits.attachedFiles} elements` })
  .default([])
  .meta({ description: 'At most 10, unless the stage has another setting.' });
