import * as z from 'zod';

type Keyword = 'const' | 'default' | 'description' | 'enum' | 'format' | 'required';
type Bound = 'minimum' | 'exclusiveMinimum' | 'maximum' | 'minItems' | 'maxItems';

interface SettingSchema extends Pick<z.core.JSONSchema.JSONSchema, Keyword>, Partial<Record<Bound, number>> {
  type?: string;
  form?: string;
  limits?: string;
  items?: SettingSchema;
  properties?: Record<string, SettingSchema>;
  oneOf?: SettingSchema[];
}

export interface SettingLine {
  path: string;
  type: string;
  default: string;
  limits: string;
  description: string;
}

export const settingLines = (group: z.core.$ZodShape): SettingLine[] =>
  linesOf(z.toJSONSchema(z.strictObject(group), { io: 'input', unrepresentable: 'any' }) as SettingSchema);

function linesOf({ properties = {}, required = [] }: SettingSchema, prefix = '', suffix = ''): SettingLine[] {
  return Object.entries(properties).flatMap(([name, setting]) => {
    const path = `${prefix}${name}`;
    const line: SettingLine = {
      path: `\`${path}\`${setting.const === undefined ? suffix : ''}`,
      type: typeOf(setting),
      default: required.includes(name) ? 'required' : defaultOf(setting),
      limits: [...limitsOf(setting), setting.limits ?? []].flat().join(', '),
      description: (setting.description ?? '').replace(/\s+/g, ' ').trim(),
    };
    return [
      line,
      ...linesOf(setting, `${path}.`, suffix),
      ...(setting.oneOf ?? []).flatMap((choice) => linesOf(choice, `${path}.`, ` with ${choiceOf(choice)}`)),
    ];
  });
}

const choiceOf = ({ properties = {} }: SettingSchema): string =>
  code(Object.values(properties).find((property) => property.const !== undefined)?.const);

function typeOf({ form, type, format, items, ...setting }: SettingSchema): string {
  if (form !== undefined) return form;
  if (setting.const !== undefined) return code(setting.const);
  if (setting.enum !== undefined) return setting.enum.map(code).join(', ');
  if (setting.oneOf !== undefined) return 'object';
  if (type === 'array') return `list of ${typeOf(items ?? {})}s`;
  if (type === 'boolean') return '`true` or `false`';
  if (type === 'integer') return 'whole number';
  return format ?? type ?? '';
}

function defaultOf(setting: SettingSchema): string {
  if (setting.default === undefined) return 'none';
  if (setting.properties !== undefined) return 'as below';
  return code(setting.default);
}

const code = (value: unknown): string =>
  `\`${typeof value === 'string' ? value : JSON.stringify(value).replaceAll(',', ', ')}\``;

function limitsOf(setting: SettingSchema): string[] {
  const items = rangeOf(setting.minItems, setting.maxItems);
  const each = setting.items === undefined ? '' : limitsOf(setting.items).join(', ');
  return [
    ...items.map((range) => `${range} items`),
    ...(each === '' ? [] : [`each ${each}`]),
    ...(setting.exclusiveMinimum === undefined ? [] : [`more than ${setting.exclusiveMinimum}`]),
    ...rangeOf(setting.minimum, setting.maximum),
  ];
}

/** Zod limits whole numbers to the safe integers. */
const isLimit = (value: number | undefined): value is number =>
  value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;

function rangeOf(minimum: number | undefined, maximum: number | undefined): string[] {
  if (isLimit(minimum) && isLimit(maximum)) return [`${format(minimum)} to ${format(maximum)}`];
  if (isLimit(minimum)) return [`at least ${format(minimum)}`];
  return isLimit(maximum) ? [`at most ${format(maximum)}`] : [];
}

const format = (value: number): string => value.toLocaleString('en-US');
