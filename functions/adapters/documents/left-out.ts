const kinds = {
  picture: 'pictures',
  video: 'videos',
  'audio clip': 'audio clips',
  'ink drawing': 'ink drawings',
  'embedded sheet': 'embedded sheets',
  'embedded document': 'embedded documents',
  'embedded presentation': 'embedded presentations',
  'embedded equation': 'embedded equations',
  'embedded object': 'embedded objects',
  'linked document': 'linked documents',
  'chart without data': 'charts without data',
  'missing part': 'missing parts',
} as const;

/** Each kind takes up to 31 characters, and a notice has 200. */
const kindsOfNotice = 6;

export type LeftOutKind = keyof typeof kinds;

/** Counts what the text of a document lacks. */
export class LeftOut {
  private readonly counts = new Map<LeftOutKind, number>();
  total = 0;

  add(kind: LeftOutKind): void {
    this.total += 1;
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  /** Such as `left out: 2 pictures, 1 embedded sheet`; none if nothing is left out. */
  notices(): string[] {
    const counts = [...this.counts].map(([kind, count]) => `${count} ${count === 1 ? kind : kinds[kind]}`);
    const notices: string[] = [];
    for (let at = 0; at < counts.length; at += kindsOfNotice)
      notices.push(`left out: ${counts.slice(at, at + kindsOfNotice).join(', ')}`);
    return notices;
  }
}
