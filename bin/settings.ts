import { renderSettings } from './settings/render-settings.ts';
import { writeOrCheck } from './write-or-check.ts';

writeOrCheck('docs/settings.md', renderSettings(), 'is not what lib/settings says: run npm run settings');
