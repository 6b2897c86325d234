import { renderCost } from './cost/render-cost.ts';
import { writeOrCheck } from './write-or-check.ts';

writeOrCheck('docs/cost.md', renderCost(), 'does not match bin/cost: run npm run cost');
