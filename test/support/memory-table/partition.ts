import { compareTexts, type WireItem } from './attribute-values.ts';

/** A partition: its items, and their sort keys in order. */
export class Partition {
  readonly items = new Map<string, WireItem>();
  readonly keys: string[] = [];

  put(key: string, item: WireItem): void {
    if (!this.items.has(key)) this.keys.splice(this.position(key), 0, key);
    this.items.set(key, item);
  }

  delete(key: string): void {
    if (this.items.delete(key)) this.keys.splice(this.position(key), 1);
  }

  /** The index of the first key that is not smaller. */
  position(key: string): number {
    let [low, high] = [0, this.keys.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareTexts(this.keys[middle] as string, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of the next key in a direction. */
  after(key: string, isForward: boolean): number {
    const at = this.position(key);
    if (!isForward) return at - 1;
    return this.keys[at] === key ? at + 1 : at;
  }
}
