import { join } from 'node:path';
import { freezeItems } from './freeze-items.ts';

await freezeItems(join(import.meta.dirname, '../../fixtures/frozen/items.jsonl'));
