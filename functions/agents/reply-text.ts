/** The text of a reply, which grows during several model calls. */
export class ReplyText {
  private text = '';
  private bytes = 0;
  private isNewParagraph = false;

  get isEmpty(): boolean {
    return this.text === '';
  }

  /** Text after a reasoning step starts a new paragraph. */
  startParagraph(): void {
    this.isNewParagraph = true;
  }

  /** @returns what was appended: the delta, after a paragraph break if it needs one */
  append(delta: string): string {
    const gap = this.isNewParagraph && this.text !== '' && !/\s$/.test(this.text) ? '\n\n' : '';
    this.isNewParagraph = false;
    this.text += gap + delta;
    this.bytes += Buffer.byteLength(gap + delta);
    return gap + delta;
  }

  /** Bytes that the next model call may add. Two bytes are reserved for the paragraph break. */
  bytesLeft(maxBytes: number): number {
    return Math.max(maxBytes - this.bytes - (this.text === '' ? 0 : 2), 0);
  }
}
