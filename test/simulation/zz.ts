import { runSeeds } from './run-seeds.ts';

const t = process.cpuUsage();
const s = await runSeeds(Array.from({ length: 60 }, (_, i) => i + 1));
const u = process.cpuUsage(t);
console.log(s.worlds, s.events, (u.user + u.system) / 1000);
