import { settingLines } from '#lib/settings/setting-lines.ts';
import { settingGroups } from '#lib/settings.ts';
import { markdownTable } from '../cost/markdown-table.ts';

export function renderSettings(): string {
  const sections = Object.entries(settingGroups).map(
    ([title, group]) => `## ${title}

${markdownTable([
  ['setting', 'type', 'default', 'limits', 'what it does'],
  ...settingLines(group).map((line) => [line.path, line.type, line.default, line.limits, line.description]),
])}
`,
  );
  return `# Settings of a stage

Made by \`npm run settings\` from \`lib/settings\`; do not edit.

A stage has its settings as JSON in \`cdk.json\`, under \`stages\` and its name. A setting that is not there has its default.
\`-c settings='{"logLevel": "WARN"}'\` replaces single settings for one run of the CDK ([deploy.md](deploy.md)), and
\`npm start -- --set logLevel=WARN\` for one local run. Synth rejects unknown settings and wrong values. It prints a line for each: the
setting, what is allowed, the wrong value, and the nearest name if the name is unknown.

\`rateLimits.sends\` is the property \`sends\` of the object \`rateLimits\`: \`{"rateLimits": {"sends": "50/s:100"}}\`. To replace
an object is to replace all of it: its other properties then have their defaults.

${sections.join('\n')}`;
}
